//! Operations that are written down once and done again and again as one: what a device is told once, it need not be told for every operation.

/// What changes from one replay to the next. All else stays as it was when the operations were written down: operands, results, numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// By how much the draws of every dropout have moved on, modulo 2^32.
    pub draws: u32,
    /// The learning rate of a step of Adam or SGD. Their other settings are as they were.
    pub rate: f64,
    /// What such a step multiplies gradients by first.
    pub gradient_factor: f64,
    /// [`AdamSettings::corrections`](super::AdamSettings::corrections) of that step.
    pub corrections: (f64, f64),
    /// What the gradient of a cross entropy is multiplied by.
    pub loss_scale: f64,
}

/// What writes operations of a backend down.
///
/// A replay writes to the matrices that the operations wrote to, whoever holds them: those that go on from replay to replay are made outside
/// of [`Recorder::run`] and [`Recorder::write`], and what the operations make inside holds until the next replay of any number.
pub trait Recorder<E>: Send {
    /// Does operations at once, in memory of the recorder: what is set up at first use is there when they are written down.
    ///
    /// # Errors
    /// The operations'.
    fn run(&self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<(), E>;
    /// Writes operations down instead of doing them; the number to replay them by, or none where they hold something that cannot be written
    /// down, as a result that goes to the host.
    ///
    /// # Errors
    /// The operations'.
    fn write(&mut self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<Option<usize>, E>;
    /// Does the operations of a number.
    ///
    /// # Errors
    /// The backend's.
    fn replay(&self, number: usize, moment: &Moment) -> Result<(), E>;
}
