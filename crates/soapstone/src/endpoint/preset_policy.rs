//! What a preset demands of messages, before there are keys: for those who tell others of it.

use soapstone_policy::{Conversation, ExchangePolicy};
use soapstone_trust::addressing::AddressingVersion;

use super::compiler::compiled;
use super::exchange_policy::Exchange;
use super::role::Role;
use crate::config::{EndpointConfig, Problems, SecuritySource};

/// What a service with this file and its clients agree on. `None` where the file names a policy,
/// which says it itself.
///
/// # Errors
/// Everything that is wrong with what the file says of algorithms and parts. Keys are not looked
/// at.
pub fn preset_exchange_policy(config: &EndpointConfig) -> Result<Option<ExchangePolicy>, Problems> {
    let SecuritySource::Mechanism(mechanism) = config.security.source.value else {
        return Ok(None);
    };
    let mut agreed = compiled(config, |compiler| compiler.preset(mechanism, Role::Service))?;
    let Some(exchange) = agreed.exchanges.pop() else {
        return Ok(None);
    };
    let between = |exchange: Exchange, conversation| ExchangePolicy {
        request: exchange.request,
        response: exchange.response,
        transport: None,
        conversation,
        trust: None,
        addressing: exchange.addressing,
        addressing_2004: exchange.asserted_addressing == Some(AddressingVersion::August2004),
        issued: None,
        http_basic: None,
        passed_over: Vec::new(),
        notices: Vec::new(),
    };
    let conversation = agreed.bootstrap.map(|bootstrap| {
        let first = Exchange {
            request: bootstrap.request,
            response: bootstrap.response,
            addressing: exchange.addressing,
            asserted_addressing: None,
        };
        Conversation {
            version: bootstrap.version,
            bootstrap: Some(Box::new(between(first, None))),
            may_cancel: true,
            may_amend: true,
            may_renew: true,
        }
    });
    Ok(Some(between(exchange, conversation)))
}
