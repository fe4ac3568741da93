//! What a backend implements: memory for dense matrices, and a method for each family of operations.
//!
//! Invariant: operands are checked in [`crate::ops`] before a backend is called: shapes and types fit, no operand shares an element with
//! the output, products of sizes do not overflow. Meaning and determinism are those of the functions of [`crate::ops`].

use crate::any::{Any, AnyMut, Out, Reals};
use crate::bits::{BitOperand, BitOut, CodesOut};
use crate::error::refused;
use crate::ops::{
    AdamOp, AdamOut, AttentionGradients, AttentionOp, BatchNormGradients, BatchNormOp, Batched, BitBatchesOp, BitGcn, BitGcnOp, BitGemmOp,
    BitSpmmOp, CrossEntropyOp, EdgeReduceOp, Epochs, EpochsOp, GemmOp, MapOp, NeighbourSampler, NeighboursOp, PackOp, Reconcile, Recorder,
    SddmmOp, SgdOp, SgdOut, SpmmOp, Whole,
};
use crate::{Dense, Element, Error, Window};
use bitgraph_backend::{Backend, Matrix};
use bitgraph_bittensor::Packing;
use bitgraph_sparse::Buffer;

/// A backend that holds dense matrices.
pub trait Tensor: Backend {
    /// What a [`Dense`] holds: an array on the device.
    type Array<T: Element>: Send + Sync + 'static;

    /// An array of elements.
    ///
    /// # Errors
    /// Out of memory.
    fn array<T: Element>(&self, elements: Vec<T>) -> Result<Self::Array<T>, Self::Error>;
    /// An array of a caller's memory: that memory itself where the device can read it, a copy elsewhere.
    ///
    /// # Errors
    /// Out of memory.
    fn array_of_buffer<T: Element>(&self, memory: Buffer<T>) -> Result<Self::Array<T>, Self::Error> {
        self.array(memory.into_vec())
    }
    /// An array of one value, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    fn array_filled<T: Element>(&self, len: usize, value: T) -> Result<Self::Array<T>, Self::Error>;
    /// An array all of which is written before any of it is read: of any content, zeros here.
    ///
    /// # Errors
    /// Out of memory.
    fn array_unwritten<T: Element>(&self, len: usize) -> Result<Self::Array<T>, Self::Error> {
        self.array_filled(len, T::ZERO)
    }
    /// A copy that nothing else shares.
    ///
    /// # Errors
    /// Out of memory.
    fn array_copy<T: Element>(&self, array: &Self::Array<T>) -> Result<Self::Array<T>, Self::Error>;
    /// Whether the array's memory is its own: what [`Tensor::array_of_buffer`] borrowed is not.
    fn array_is_writable<T: Element>(&self, array: &Self::Array<T>) -> bool {
        let _ = array;
        true
    }
    /// Whether what the calling thread asks for now is written down for replays ([`Recorder::write`]) and not done.
    fn writes_down(&self) -> bool {
        false
    }
    /// The number of elements.
    fn array_len<T: Element>(&self, array: &Self::Array<T>) -> usize;
    /// The elements of a window, row by row without gaps. Waits.
    ///
    /// # Errors
    /// Out of memory, or whatever went wrong in the work before it.
    fn array_to_host<T: Element>(&self, array: &Self::Array<T>, window: Window) -> Result<Vec<T>, Self::Error>;
    /// All elements; the array's memory itself where that is the host's.
    ///
    /// # Errors
    /// As [`Tensor::array_to_host`].
    fn array_into_vec<T: Element>(&self, array: Self::Array<T>) -> Result<Vec<T>, Self::Error> {
        let window = Window::whole(1, self.array_len(&array)).map_err(crate::error::refused::<Self>)?;
        self.array_to_host(&array, window)
    }
}

/// Products of a sparse matrix with dense features.
pub trait Spmm: Tensor {
    /// [`spmm`](crate::ops::spmm): writes `y`, and, where `chosen` is given (maximum and minimum only), the column that gave each element,
    /// -1 for a row without entries.
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn spmm(&self, op: &SpmmOp<Self>, y: AnyMut<'_, Self>, chosen: Option<Out<'_, Self, i32>>) -> Result<(), Self::Error>;
    /// The backward pass of a maximum or minimum: `dx(j, c)` is the sum of `dy(i, c)`, times the factor of entry (i, j), over the rows `i`
    /// that chose column `j`. Of `op` features and epilogue are not read.
    ///
    /// # Errors
    /// As [`Spmm::spmm`].
    fn spmm_chosen_backward(
        &self,
        op: &SpmmOp<Self>,
        chosen: &crate::Dense<Self, i32>,
        dy: &Any<Self>,
        dx: AnyMut<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// One over the number of entries of each row, or column with `transposed`, and 0 where there are none; `extra` is added to every number.
    ///
    /// # Errors
    /// As [`Spmm::spmm`].
    fn inverse_counts(&self, matrix: &Matrix<Self>, transposed: bool, extra: u32, out: AnyMut<'_, Self>) -> Result<(), Self::Error>;
}

/// Operations whose result is a value for each entry of a sparse matrix, in the order of its CSR form.
pub trait Sddmm: Tensor {
    /// [`sddmm`](crate::ops::sddmm).
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn sddmm(&self, op: &SddmmOp<Self>, e: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`edge_softmax`](crate::ops::edge_softmax).
    ///
    /// # Errors
    /// As [`Sddmm::sddmm`].
    fn edge_softmax(&self, matrix: &Matrix<Self>, scores: &Any<Self>, p: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`edge_softmax_backward`](crate::ops::edge_softmax_backward).
    ///
    /// # Errors
    /// As [`Sddmm::sddmm`].
    fn edge_softmax_backward(&self, matrix: &Matrix<Self>, p: &Any<Self>, dp: &Any<Self>, ds: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`edge_reduce`](crate::ops::edge_reduce).
    ///
    /// # Errors
    /// As [`Sddmm::sddmm`].
    fn edge_reduce(&self, op: &EdgeReduceOp<Self>, y: AnyMut<'_, Self>) -> Result<(), Self::Error>;
}

/// Attention over the entries of a sparse matrix, in one pass.
pub trait Attend: Tensor {
    /// Numbers that a gradient of attention holds for each entry and head while it is formed: what predictions of memory have to know.
    const HELD_FOR_GRADIENTS: u64 = 0;

    /// [`attention`](crate::ops::attention): writes `y`, and, where `lse` is given, the logarithm of the sum of the exponentials of the scores
    /// of each row and head, negative infinity for a row without entries.
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn attention(&self, op: &AttentionOp<Self>, y: AnyMut<'_, Self>, lse: Option<AnyMut<'_, Self>>) -> Result<(), Self::Error>;
    /// The backward pass, from what the forward pass left and the gradient of its result before the epilogue: of that result too, where it is
    /// still there, which saves some forms a part of the forward pass. Only the gradients that are given are written.
    ///
    /// # Errors
    /// As [`Attend::attention`].
    fn attention_backward(
        &self,
        op: &AttentionOp<Self>,
        lse_and_result: (&Reals<Self>, Option<&Any<Self>>),
        dy: &Any<Self>,
        gradients: AttentionGradients<'_, Self>,
    ) -> Result<(), Self::Error>;
}

/// Dense products.
pub trait Gemm: Tensor {
    /// Whether a product copies operands of half precision to `f32`: what predictions of memory have to know.
    const WIDENS_HALVES: bool = false;

    /// [`gemm`](crate::ops::gemm).
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn gemm(&self, op: &GemmOp<Self>, y: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// Whether the backend forms a product and the sums of the second matrix's columns in one pass, and that pays.
    fn sums_with_gemm(&self, op: &GemmOp<Self>) -> bool {
        let _ = op;
        false
    }
    /// [`Gemm::gemm`], with the sum of every column of the second matrix as it is stored, of one row. Called where [`Gemm::sums_with_gemm`] says so.
    ///
    /// # Errors
    /// As [`Gemm::gemm`]; [`Error::Combination`] of a backend that has no such pass.
    fn gemm_with_sums(&self, op: &GemmOp<Self>, y: AnyMut<'_, Self>, sums: AnyMut<'_, Self>) -> Result<(), Self::Error> {
        let (_, _, _) = (op, y, sums);
        Err(refused::<Self>(Error::Combination { operation: "gemm", what: "sums of columns", why: "the backend has no pass for both" }))
    }
}

/// Operations over dense matrices alone.
pub trait DenseOps: Tensor {
    /// Whether [`DenseOps::recorder`] gives one: what predictions of memory have to know.
    const RECORDS: bool = false;
    /// Whether [`DenseOps::neighbours`] gives samplers: as above.
    const DRAWS_NEIGHBOURS: bool = false;

    /// [`map`](crate::ops::map).
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn map(&self, op: &MapOp<Self>, y: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// The sum of every column, of one row: [`sum_columns`](crate::ops::sum_columns).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn sum_columns(&self, x: &Any<Self>, sums: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// The dot products of the columns of two matrices, of one row: [`dot_columns`](crate::ops::dot_columns).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn dot_columns(&self, x: &Any<Self>, other: &Any<Self>, sums: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// The mean and the biased variance of every column, each of one row: [`moments`](crate::ops::moments).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn moments(&self, x: &Any<Self>, mean: AnyMut<'_, Self>, variance: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`batch_norm_backward`](crate::ops::batch_norm_backward).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn batch_norm_backward(&self, op: &BatchNormOp<Self>, gradients: BatchNormGradients<'_, Self>) -> Result<(), Self::Error>;
    /// [`log_softmax`](crate::ops::log_softmax).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn log_softmax(&self, x: &Any<Self>, y: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`log_softmax_backward`](crate::ops::log_softmax_backward).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn log_softmax_backward(&self, y: &Any<Self>, dy: &Any<Self>, dx: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`cross_entropy`](crate::ops::cross_entropy): the mean loss, of 1 x 1, and its gradient where that is wanted.
    ///
    /// # Errors
    /// As [`DenseOps::map`], and [`Error::Label`] from a backend that sees labels before it returns; one that does not
    /// takes a row with a label that is no class as a NaN.
    fn cross_entropy(&self, op: &CrossEntropyOp<Self>, loss: AnyMut<'_, Self>, dx: Option<AnyMut<'_, Self>>) -> Result<(), Self::Error>;
    /// Whether the backend forms the sums of the columns of the gradient of a cross entropy with it.
    fn sums_with_cross_entropy(&self) -> bool {
        false
    }
    /// [`DenseOps::cross_entropy`] with the gradient and the sum of every column of it, of one row. Called where
    /// [`DenseOps::sums_with_cross_entropy`] says so.
    ///
    /// # Errors
    /// As [`DenseOps::cross_entropy`]; [`Error::Combination`] of a backend that has no such pass.
    fn cross_entropy_with_sums(
        &self,
        op: &CrossEntropyOp<Self>,
        loss: AnyMut<'_, Self>,
        dx: AnyMut<'_, Self>,
        sums: AnyMut<'_, Self>,
    ) -> Result<(), Self::Error> {
        let (_, _, _, _) = (op, loss, dx, sums);
        let (what, why) = ("sums of columns", "the backend has no pass for both");
        Err(refused::<Self>(Error::Combination { operation: "cross_entropy", what, why }))
    }
    /// [`argmax_rows`](crate::ops::argmax_rows).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn argmax_rows(&self, x: &Any<Self>, columns: Out<'_, Self, i32>) -> Result<(), Self::Error>;
    /// [`adam`](crate::ops::adam).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn adam(&self, op: &AdamOp<Self>, out: AdamOut<'_, Self>) -> Result<(), Self::Error>;
    /// [`sgd`](crate::ops::sgd).
    ///
    /// # Errors
    /// As [`DenseOps::map`].
    fn sgd(&self, op: &SgdOp<Self>, out: SgdOut<'_, Self>) -> Result<(), Self::Error>;
    /// What writes operations down and does them again and again as one, where the backend has that.
    ///
    /// # Errors
    /// Out of memory.
    #[allow(clippy::type_complexity)] // one that may be missing
    fn recorder(&self) -> Result<Option<Box<dyn Recorder<Self::Error>>>, Self::Error> {
        Ok(None)
    }
    /// Training of a model of two layers as one operation, where the backend has that and it pays. The numbers are those of the operations one
    /// by one, up to rounding, and the same on every run.
    ///
    /// # Errors
    /// Out of memory, or a cancellation before the first epoch.
    fn epochs(&self, op: &EpochsOp<'_, Self>) -> Result<Whole<Epochs<Self>>, Self::Error> {
        let _ = op;
        Ok(Whole::Declined("the backend has no such operation".into()))
    }
    /// Prepares the drawing of batches of neighbours on the device, where the backend has that: the batches are those of [`NeighboursOp`], bit
    /// for bit. Declined with the reason where it has not, or where memory is short.
    ///
    /// # Errors
    /// The backend's.
    fn neighbours(&self, op: &NeighboursOp<'_, Self>) -> Result<Whole<Box<dyn NeighbourSampler<Self>>>, Self::Error> {
        let _ = op;
        Ok(Whole::Declined("the backend draws no batches".into()))
    }
}

/// Matrices of few bits, and products with them. Packing is that of [`bitgraph_bittensor`] on every backend.
pub trait Bits: Tensor {
    /// An array of words, which are bit patterns: where a kernel likes them best.
    ///
    /// # Errors
    /// Out of memory.
    fn words(&self, words: &[u32]) -> Result<Self::Array<i32>, Self::Error> {
        self.array(words.iter().map(|word| word.cast_signed()).collect())
    }
    /// [`Dense::sign`] and [`Dense::quantize`]: the codes of a dense matrix, along rows or columns.
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn pack(&self, op: &PackOp<Self>, codes: CodesOut<'_, Self>) -> Result<(), Self::Error>;
    /// The values of signs or planes, scales and steps included, in either packing.
    ///
    /// # Errors
    /// As [`Bits::pack`].
    fn unpack(&self, x: &BitOperand<Self>, y: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// The mean magnitude of each row (n x 1) or column (1 x n) of a dense matrix, from sums in double precision; 0 where there are no elements.
    ///
    /// # Errors
    /// As [`Bits::pack`].
    fn mean_magnitudes(&self, x: &Any<Self>, along: Packing, means: AnyMut<'_, Self>) -> Result<(), Self::Error>;
    /// [`bit_gemm`](crate::ops::bit_gemm). Never called with [`BitOut::Counts`].
    ///
    /// # Errors
    /// As [`Bits::pack`].
    fn bit_gemm(&self, op: &BitGemmOp<Self>, y: BitOut<'_, Self>) -> Result<(), Self::Error>;
    /// The ways to reconcile zeros and ones with signs that differ here; others are taken for [`Reconcile::Count`].
    fn reconciles(&self) -> &'static [Reconcile] {
        &[Reconcile::Count]
    }
    /// [`bit_spmm`](crate::ops::bit_spmm).
    ///
    /// # Errors
    /// As [`Bits::pack`], and [`Error::Parameter`] for a row whose count does not fit the planes of [`BitOut::Counts`].
    fn bit_spmm(&self, op: &BitSpmmOp<Self>, y: BitOut<'_, Self>) -> Result<(), Self::Error>;
    /// [`bit_batches`](crate::ops::bit_batches) as one operation, where the backend has that for the operands. The classes are those of the
    /// operations one by one.
    ///
    /// # Errors
    /// As [`Bits::pack`].
    fn bit_batches(&self, op: &BitBatchesOp<'_, Self>) -> Result<Whole<Box<dyn Batched<Self>>>, Self::Error> {
        let _ = op;
        Ok(Whole::Declined("the backend computes batches operation by operation".into()))
    }
    /// Half the number of messages of each row of a [`bit_spmm`](crate::ops::bit_spmm) (n x 1): where the counts of its signs are 0. By a
    /// product with ones, where a backend has nothing faster.
    ///
    /// # Errors
    /// As [`Bits::pack`].
    fn half_messages(&self, op: &BitSpmmOp<Self>) -> Result<Dense<Self, f32>, Self::Error> {
        op.half_messages()
    }
    /// Prepares the inference of two graph convolutions over signs as one operation, where the backend has that and it pays; logits are those
    /// of the operations one by one.
    ///
    /// # Errors
    /// Out of memory.
    fn bit_gcn(&self, op: &BitGcnOp<'_, Self>) -> Result<Whole<Box<dyn BitGcn<Self>>>, Self::Error> {
        let _ = op;
        Ok(Whole::Declined("the backend infers operation by operation".into()))
    }
}

/// A backend with all families of operations over dense elements. Implemented for every one that has them; never by hand.
pub trait TensorBackend: Spmm + Sddmm + Attend + Gemm + DenseOps {}
impl<B: Spmm + Sddmm + Attend + Gemm + DenseOps> TensorBackend for B {}
