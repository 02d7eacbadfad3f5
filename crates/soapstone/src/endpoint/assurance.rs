//! What an endpoint assures of every exchange, whatever its operation, and what answers prove less.
//!
//! The rule kept here: the weakest of all plans counts.

use soapstone_wss::Assurance;

use super::compiled::Endpoint;
use super::plans::Directions;
use crate::config::UnsecuredFaults;

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

    /// Whether its file has answers prove less than requests.
    pub fn answers_prove_less(&self) -> bool {
        self.answers.prove_less
    }

    /// How much of a fault that nobody secured is passed on in the place of a secured answer.
    pub fn unsecured_faults(&self) -> UnsecuredFaults {
        self.answers.faults
    }

    /// Whether answers may come and go over TLS alone: nothing else protects some of them.
    pub fn answers_need_tls(&self) -> bool {
        self.answers.need_tls
    }
}
