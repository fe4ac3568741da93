//! Arrays come back as they were sent.

use super::{dense, device, elements, spread};
use crate::Cuda;
use bitgraph_tensor::{Dense, Element};
use half::{bf16, f16};

fn returns<T: Element>(cuda: &Cuda) {
    let x = dense::<T>(cuda, 13, 7, 5);
    assert_eq!(x.to_host().unwrap(), elements::<T>(13 * 7, 5));
    assert_eq!(spread(&x).to_host().unwrap(), elements::<T>(13 * 7, 5));
    let value = T::from_f64(3.0);
    let filled = Dense::filled(cuda, 5, 9, value).unwrap();
    assert_eq!(filled.to_host().unwrap(), vec![value; 45]);
    assert_eq!(Dense::<_, T>::zeros(cuda, 3, 3).unwrap().into_vec().unwrap(), vec![T::ZERO; 9]);
    assert_eq!(x.rows(2..5).unwrap().to_host().unwrap(), elements::<T>(13 * 7, 5)[14..35]);
    for (rows, columns) in [(0, 4), (4, 0), (0, 0)] {
        assert_eq!(Dense::filled(cuda, rows, columns, value).unwrap().to_host().unwrap(), []);
        assert_eq!(x.rows(rows..rows).unwrap().columns(0..columns).unwrap().to_host().unwrap(), []);
    }
}

#[test]
fn arrays() {
    let Some(cuda) = device() else { return };
    returns::<f16>(&cuda);
    returns::<bf16>(&cuda);
    returns::<f32>(&cuda);
    returns::<f64>(&cuda);
    returns::<i8>(&cuda);
    returns::<u8>(&cuda);
    returns::<i16>(&cuda);
    returns::<i32>(&cuda);
}

/// Windows of a matrix are written without the rest of it, and clones keep what they had.
#[test]
fn outputs_are_windows() {
    let Some(cuda) = device() else { return };
    let mut y = Dense::<_, f32>::filled(&cuda, 6, 5, -7.0).unwrap();
    let before = y.clone();
    let x = dense::<f32>(&cuda, 6, 2, 1);
    bitgraph_tensor::ops::concat(&[&x, &x]).unwrap();
    bitgraph_tensor::ops::map(&x).into(y.columns_mut(1..3).unwrap()).unwrap();
    let (found, wanted) = (y.to_host().unwrap(), x.to_host().unwrap());
    for i in 0..6 {
        assert_eq!(found[5 * i..5 * i + 5], [-7.0, wanted[2 * i], wanted[2 * i + 1], -7.0, -7.0]);
    }
    assert_eq!(before.to_host().unwrap(), [-7.0; 30]);
}
