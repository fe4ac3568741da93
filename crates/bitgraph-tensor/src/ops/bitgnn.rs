//! BitGNN's operators by their names: which operands are full-precision (F) and which binary (B).
//!
//! A name is three letters: first operand, second operand, result (BitGNN, section 3.1.2). Every one is a combination of the operations of
//! this crate, and this module is the table that says of which.
//!
//! # Dense products
//! A full-precision operand of a BMM is binarised on the way in ("the functions include BIN"): its signs are multiplied. A full-precision
//! result has the scales of its operands multiplied in (SCL); for a binary result they are left out, as a positive factor changes no sign.
//! The paper names seven: all combinations but FFF, in which nothing is binary.
//!
//! # Sparse products
//! The first operand is the activation, the second the adjacency matrix: B is 0/1, F is a weighted matrix in factorised form,
//! `diag(r) A diag(c)` ("a multiplication with a full-precision factorisation vector"). A full-precision activation is summed as it is.
//! The paper counts eight and names BBB, FBB, FBF and BBF; the others stand in a figure alone and are read here as the remaining combinations.

use super::{BitSpmm, Operation, bit_gemm, bit_spmm};
use crate::bits::{BitOperand, Signs};
use crate::error::refused;
use crate::{Bits, Dense, Error, Tensor};
use bitgraph_backend::Matrix;
use bitgraph_bittensor::{Packing, Scaling};

/// How an operand or a result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// F: `f32`.
    Full,
    /// B: signs.
    Binary,
}

/// A matrix of one of the two precisions.
pub enum Mixed<B: Tensor> {
    /// F.
    Full(Dense<B, f32>),
    /// B.
    Binary(Signs<B>),
}

impl<B: Tensor> Mixed<B> {
    /// How it is stored.
    #[must_use]
    pub fn precision(&self) -> Precision {
        match self {
            Self::Full(_) => Precision::Full,
            Self::Binary(_) => Precision::Binary,
        }
    }
    /// Refuses a matrix of another precision than a name asks for.
    fn expect(&self, operation: &'static str, wanted: Precision) -> Result<(), Error> {
        if self.precision() == wanted {
            return Ok(());
        }
        let (what, why) = match wanted {
            Precision::Full => ("signs", "the name has an F there: full precision"),
            Precision::Binary => ("full precision", "the name has a B there: signs"),
        };
        Err(Error::Combination { operation, what, why })
    }
    fn operand(&self) -> BitOperand<B> {
        match self {
            Self::Full(x) => x.into(),
            Self::Binary(x) => x.into(),
        }
    }
}

impl<B: Tensor> Clone for Mixed<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Full(x) => Self::Full(x.clone()),
            Self::Binary(x) => Self::Binary(x.clone()),
        }
    }
}

/// Defines the names of a group.
macro_rules! names {
    ($(#[$doc:meta])* $group:ident, $count:literal: $($name:ident $text:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum $group { $( $name, )* }

        impl $group {
            /// All of them.
            pub const ALL: [Self; $count] = [ $( Self::$name, )* ];

            /// The three letters.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }
            /// The operator of a name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|x| x.name() == name)
            }
            /// The precisions of the first operand, the second operand and the result.
            #[must_use]
            pub fn precisions(self) -> [Precision; 3] {
                let name = self.name().as_bytes();
                [0, 1, 2].map(|k| if name[k] == b'F' { Precision::Full } else { Precision::Binary })
            }
        }
    };
}
names! {
    /// The seven binary dense products: activation, weights, result.
    Bmm, 7: Fbb "FBB" Fbf "FBF" Ffb "FFB" Bbb "BBB" Bbf "BBF" Bfb "BFB" Bff "BFF"
}
names! {
    /// The eight sparse products with a 0/1 matrix: activation, adjacency (F: factorised), result.
    Bspmm, 8: Fbb "FBB" Fbf "FBF" Ffb "FFB" Fff "FFF" Bbb "BBB" Bbf "BBF" Bfb "BFB" Bff "BFF"
}

impl Bmm {
    /// Computes. Signs of `x` are packed along rows, of `w` along columns. A full-precision `x` gets the mean magnitudes of its rows as scales,
    /// a full-precision `w` those of its columns.
    ///
    /// # Errors
    /// [`Error::Combination`] for an operand of another precision than the name says; as [`bit_gemm`].
    pub fn compute<B: Bits>(self, x: &Mixed<B>, w: &Mixed<B>) -> Result<Mixed<B>, B::Error> {
        let [first, second, result] = self.precisions();
        x.expect("bmm", first).map_err(refused::<B>)?;
        w.expect("bmm", second).map_err(refused::<B>)?;
        let scaled = |full: Scaling| if result == Precision::Full { full } else { Scaling::None };
        let binary = |m: &Mixed<B>, packing, scaling| match m {
            Mixed::Full(m) => m.sign_scaled(packing, scaled(scaling)),
            Mixed::Binary(m) if result == Precision::Full => Ok(m.clone()),
            Mixed::Binary(m) => Ok(m.clone().without_scales()),
        };
        let x = binary(x, Packing::Rows, Scaling::RowMeans)?;
        let w = binary(w, Packing::Columns, Scaling::ColumnMeans)?;
        let product = bit_gemm(&x, &w);
        Ok(match result {
            Precision::Full => Mixed::Full(product.eval()?),
            Precision::Binary => Mixed::Binary(product.eval_signs()?),
        })
    }
}

/// The factors of a weighted adjacency matrix, `diag(rows) A diag(columns)`: of GCN, both the inverse square roots of the degrees.
pub struct Factors<B: Tensor> {
    /// A factor for each row, of one column.
    pub rows: Dense<B, f32>,
    /// A factor for each column of the matrix, of one column.
    pub columns: Dense<B, f32>,
}

impl Bspmm {
    /// Computes. Factors belong to the names with an F in the middle, and to those alone.
    ///
    /// # Errors
    /// [`Error::Combination`] for an activation of another precision than the name says, and for factors without an F or an F without
    /// factors; as [`bit_spmm`].
    pub fn compute<B: Bits>(self, a: &Matrix<B>, factors: Option<&Factors<B>>, x: &Mixed<B>) -> Result<Mixed<B>, B::Error> {
        let [first, second, result] = self.precisions();
        x.expect("bspmm", first).map_err(refused::<B>)?;
        let refuse = |what, why| Err(refused::<B>(Error::Combination { operation: "bspmm", what, why }));
        let mut sums: Operation<BitSpmm<B>> = bit_spmm(a, x.operand());
        match (second, factors) {
            (Precision::Full, None) => return refuse("no factors", "the name has an F there: the matrix's factors"),
            (Precision::Binary, Some(_)) => return refuse("factors", "the name has a B there: a matrix of zeros and ones"),
            (Precision::Full, Some(factors)) => sums = sums.scale_rows(&factors.rows).scale_columns(&factors.columns),
            (Precision::Binary, None) => {}
        }
        Ok(match result {
            Precision::Full => Mixed::Full(sums.eval()?),
            Precision::Binary => Mixed::Binary(sums.eval_signs()?),
        })
    }
}

/// BitGNN's high-level pairs: a dense product and the sparse product of its result, a layer of a graph convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pair {
    /// BMM.FBB + BSpMM.BBB: the first layer, a binary tensor between.
    FbbBbb,
    /// BMM.FBF + BSpMM.FBB: the first layer, full precision between.
    FbfFbb,
    /// BMM.BBF + BSpMM.FBF: the second layer, full precision between.
    BbfFbf,
    /// BMM.BBB + BSpMM.BBF: the second layer, a binary tensor between.
    BbbBbf,
}

impl Pair {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::FbbBbb, Self::FbfFbb, Self::BbfFbf, Self::BbbBbf];

    /// The two operators.
    #[must_use]
    pub const fn operators(self) -> (Bmm, Bspmm) {
        match self {
            Self::FbbBbb => (Bmm::Fbb, Bspmm::Bbb),
            Self::FbfFbb => (Bmm::Fbf, Bspmm::Fbb),
            Self::BbfFbf => (Bmm::Bbf, Bspmm::Fbf),
            Self::BbbBbf => (Bmm::Bbb, Bspmm::Bbf),
        }
    }
    /// Computes `A (x w)`.
    ///
    /// # Errors
    /// As [`Bmm::compute`] and [`Bspmm::compute`].
    pub fn compute<B: Bits>(self, a: &Matrix<B>, x: &Mixed<B>, w: &Mixed<B>) -> Result<Mixed<B>, B::Error> {
        let (dense, sparse) = self.operators();
        sparse.compute(a, None, &dense.compute(x, w)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_all_combinations_but_those_without_a_bit() {
        use std::collections::HashSet;
        let bmm: HashSet<_> = Bmm::ALL.iter().map(|b| b.precisions()).collect();
        assert_eq!(bmm.len(), 7);
        assert!(!bmm.contains(&[Precision::Full; 3]));
        let bspmm: HashSet<_> = Bspmm::ALL.iter().map(|b| b.precisions()).collect();
        assert_eq!(bspmm.len(), 8);
        for b in Bmm::ALL {
            assert_eq!(Bmm::from_name(b.name()), Some(b));
        }
        assert_eq!((Bmm::from_name("FFF"), Bspmm::from_name("FFF")), (None, Some(Bspmm::Fff)));
        for pair in Pair::ALL {
            let (dense, sparse) = pair.operators();
            assert_eq!(dense.precisions()[2], sparse.precisions()[0], "{pair:?}: what is between has one precision");
        }
    }
}
