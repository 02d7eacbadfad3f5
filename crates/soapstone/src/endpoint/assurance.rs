//! What an endpoint assures of every exchange, whatever its operation.
//!
//! The rule kept here: the weakest of all plans counts.

use soapstone_wss::Assurance;

use super::compiled::Endpoint;
use super::plans::Directions;

impl<P: Directions> Endpoint<P> {
    /// What its plans assure: one item for each plan of each operation, and for those that begin
    /// its conversations.
    pub fn assurances(&self) -> impl Iterator<Item = Assurance> {
        let arriving = self.inbound().map(|plan| plan.assurance());
        let leaving = self.outbound().map(|plan| plan.assurance());
        let conversation = self.conversation.iter();
        let begun = conversation.flat_map(|conversation| {
            let asked = conversation.bootstrap_outbound.assurance();
            [asked, conversation.bootstrap_inbound.assurance()]
        });
        arriving.chain(leaving).chain(begun)
    }
}
