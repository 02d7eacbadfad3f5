//! Records of calls, read and written.
//!
//! The rule kept here: a text that is absent is not known.

use soapstone_xml::Element;

use super::fields::Fields;
use super::output::Output;
use crate::calls::{Call, Calls, Logged, Outcome};
use crate::refusal::Refusal;

pub(super) fn read_calls(mut fields: Fields<'_>) -> Result<Calls, Refusal> {
    let calls = Calls {
        source: fields.word("source"),
        calls: super::entities::each(fields.all("call"), read_call)?,
    };
    fields.finish()?;
    Ok(calls)
}

fn read_call(element: Element<'_>) -> Result<Call, Refusal> {
    let mut fields = Fields::of(element);
    let outcome = Outcome::named(&fields.word("outcome")).ok_or(Refusal::Value {
        part: "outcome",
        expected: "accepted, refused or failed",
    })?;
    let missing = |part| move || Refusal::Missing { part };
    let mut number = |name| fields.number(name);
    let call = Call {
        number: number("number")?.ok_or_else(missing("number"))?,
        total: number("total")?.unwrap_or_default(),
        backend: number("backend")?.unwrap_or_default(),
        security: number("security")?.unwrap_or_default(),
        choice: number("choice")?.unwrap_or_default(),
        attempts: number("attempts")?.unwrap_or_default(),
        status: number("status")?.unwrap_or_default(),
        request_bytes: number("requestBytes")?,
        response_bytes: number("responseBytes")?,
        time: fields.number("time")?.ok_or_else(missing("time"))?,
        request: fields.attribute("request"),
        route: fields.word("route"),
        service: fields.attribute("service"),
        binding_key: fields.attribute("bindingKey"),
        provider: fields.attribute("provider"),
        chosen: fields.attribute("chosen"),
        operation: fields.attribute("operation"),
        client: fields.attribute("client"),
        class: fields.attribute("class"),
        agreement: fields.attribute("agreement"),
        outcome,
        reason: fields.attribute("reason"),
    };
    fields.finish()?;
    Ok(call)
}

pub(super) fn write_call(output: &mut Output, call: &Call) {
    let time = call.time.to_string();
    let numbers = call.numbers().into_iter();
    let numbers = numbers.filter_map(|(name, number)| Some((name, number?.to_string())));
    let numbers: Vec<(&str, String)> = numbers.collect();
    let texts = call.texts().into_iter();
    let texts = texts.filter_map(|(name, text)| Some((name, text?)));
    let mut attributes = vec![("time", time.as_str()), ("outcome", call.outcome.name())];
    attributes.extend(numbers.iter().map(|(name, it)| (*name, it.as_str())));
    attributes.extend(texts);
    output.leaf("call", &attributes, "");
}

pub(super) fn read_logged(fields: &mut Fields<'_>) -> Result<Logged, Refusal> {
    Ok(Logged {
        calls: fields.number("calls")?.unwrap_or_default(),
        unknown: fields.number("unknown")?.unwrap_or_default(),
    })
}
