//! The security of single messages that leave.

use soapstone_wss::{Message, OutboundPlan, Outgoing, SecureError, Secured};
use soapstone_xml::Limits;

use super::call::{Call, make};
use super::compiled::Endpoint;

/// What secures single messages, as `soapstone secure` does.
///
/// ```no_run
/// # use std::path::Path;
/// # use soapstone::Securer;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let message = Vec::new();
/// let securer = Securer::from_file(Path::new("client.toml"), &|name| std::env::var(name).ok())?;
/// let secured = securer.secure(message)?;
/// # Ok(())
/// # }
/// ```
///
/// It opens nothing:
///
/// ```compile_fail,E0599
/// # use soapstone::{Memory, Securer};
/// # fn wrong(securer: Securer, bytes: Vec<u8>, memory: Memory<'_>) {
/// securer.open(bytes, memory).ok();
/// # }
/// ```
pub type Securer = Endpoint<OutboundPlan>;

impl Endpoint<OutboundPlan> {
    /// Assembles it from a plan: for applications that have no file.
    pub fn of_plan(plan: OutboundPlan, limits: Limits) -> Self {
        Self::assembled(plan, limits)
    }

    /// Secures a message. Where messages have addressing headers, it gets them, unless it has some.
    ///
    /// # Errors
    /// Why the message cannot be secured.
    pub fn secure(&self, message: impl Into<Message>) -> Result<Secured, SecureError> {
        make(|call| self.secure_with(message, Outgoing::default(), call))
    }

    /// [Secures](Self::secure) a message in a tuned call. An observer of the call may
    /// [listen](crate::StepObserver::securing) to all that is done:
    ///
    /// ```no_run
    /// # use std::path::Path;
    /// # use jiff::Timestamp;
    /// use soapstone::wss::{Operation, OperationObserver, Outgoing, SecuringEvent};
    /// use soapstone::xml::Buffers;
    /// use soapstone::{Call, Securer, Step, StepObserver};
    ///
    /// struct Digests;
    ///
    /// impl OperationObserver for Digests {
    ///     fn ended(&mut self, _: Operation) {}
    ///
    ///     fn listens(&self) -> bool {
    ///         true
    ///     }
    ///
    ///     fn made(&mut self, event: SecuringEvent<'_>) {
    ///         if let SecuringEvent::Reference { uri, element, canonical, .. } = event {
    ///             println!("{uri} is {element}, {} bytes", canonical.len());
    ///         }
    ///     }
    /// }
    ///
    /// impl StepObserver for Digests {
    ///     fn ended(&mut self, _: Step) {}
    ///
    ///     fn securing(&mut self) -> Option<&mut dyn OperationObserver> {
    ///         Some(self)
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let message = Vec::new();
    /// let file = Path::new("client.toml");
    /// let securer = Securer::from_file(file, &|name| std::env::var(name).ok())?;
    /// let (mut digests, mut buffers) = (Digests, Buffers::default());
    /// let mut call = Call::new(Timestamp::now(), &mut buffers).observed(&mut digests);
    /// let secured = securer.secure_with(message, Outgoing::default(), &mut call)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Why the message cannot be secured.
    pub fn secure_with(
        &self,
        message: impl Into<Message>,
        outgoing: Outgoing<'_>,
        call: &mut Call<'_>,
    ) -> Result<Secured, SecureError> {
        let now = call.now;
        let (buffers, mut observer) = call.parts();
        let Message { root, parts } = message.into();
        let root = self.label_request(root, outgoing.action, None, buffers)?;
        self.secured(
            Message { root, parts },
            outgoing,
            now,
            buffers,
            &mut observer,
        )
    }
}
