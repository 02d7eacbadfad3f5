//! Requests and answers as the one element in a SOAP body.
//!
//! Elements of UDDI are in its namespace, and the project's own in theirs. A refusal is a
//! `dispositionReport`, which stands in the detail of a fault (UDDI 3.0.2, section 4.8).
//!
//! The rule kept here: an element or attribute without a place in the model is refused by name, and
//! none is read from another place than its own.

mod answers;
mod calls;
mod entities;
mod fields;
mod figures;
mod output;
mod requests;

use soapstone_xml::Element;

use crate::answer::{Answer, Info, Provider};
use crate::names::UDDI;
use crate::refusal::Refusal;
use crate::registry::{Entry, EntryKind};
use crate::request::Request;
use output::Output;

/// Reads a request.
///
/// # Errors
///
/// What is wrong with it.
pub fn read_request(body: Element<'_>) -> Result<Request, Refusal> {
    requests::read(only(body)?)
}

/// Writes a request: the content of a Body.
pub fn write_request(request: &Request) -> String {
    let mut output = Output::default();
    requests::write(request, &mut output);
    output.done()
}

/// Reads an answer. That something was done is said by an empty Body (UDDI 3.0.2, section 5.2), or
/// by a report of success, as in version 2.
///
/// # Errors
///
/// What is wrong with it.
pub fn read_answer(body: Element<'_>) -> Result<Answer, Refusal> {
    match body.first_child() {
        None => Ok(Answer::Done),
        Some(_) => answers::read(only(body)?),
    }
}

/// Writes an answer: the content of a Body.
pub fn write_answer(answer: &Answer) -> String {
    let mut output = Output::default();
    answers::write(answer, &mut output);
    output.done()
}

/// Writes a refusal: the content of the detail of a fault.
pub fn write_refusal(refusal: &Refusal) -> String {
    let (number, name) = refusal.code();
    disposition(number, name, &refusal.to_string())
}

/// Reads the detail of a fault: the code of UDDI, and what was said of it. `None` if it holds no
/// report.
pub fn read_refusal(detail: Element<'_>) -> Option<(String, String)> {
    let report = detail.child(UDDI, "dispositionReport")?;
    let information = report.child(UDDI, "result")?.child(UDDI, "errInfo")?;
    let code = information.attribute("", "errCode")?.into_owned();
    Some((code, information.text().into_owned()))
}

/// How many bytes an entry has in an answer. Its parts are entries of their own.
pub(crate) fn size_of_entry(entry: &Entry) -> usize {
    let mut output = Output::default();
    match entry {
        Entry::Business(it) => entities::write_business(&mut output, it),
        Entry::Service(it) => entities::write_service(&mut output, it),
        Entry::Binding(it) => entities::write_binding(&mut output, it),
        Entry::TModel(it) => entities::write_t_model(&mut output, it),
        Entry::Report(it) => figures::write_figures(&mut output, &it.figures),
    }
    output.len()
}

/// How many bytes an entry in short has in an answer.
pub(crate) fn size_of_info(info: &Info) -> usize {
    let mut output = Output::default();
    answers::write_info(EntryKind::Business, info, &mut output);
    output.len()
}

/// How many bytes a provider has in an answer.
pub(crate) fn size_of_provider(provider: &Provider) -> usize {
    let mut output = Output::default();
    answers::write_provider(&mut output, provider);
    output.len()
}

fn disposition(number: u32, name: &str, said: &str) -> String {
    let mut output = Output::default();
    output.root(UDDI, "dispositionReport", &[]);
    output.open("result", &[("errno", &number.to_string())]);
    output.leaf("errInfo", &[("errCode", name)], said);
    output.close("result");
    output.close("dispositionReport");
    output.done()
}

/// The one element in a Body.
fn only(body: Element<'_>) -> Result<Element<'_>, Refusal> {
    let mut children = body.children();
    match (children.next(), children.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Refusal::Missing {
            part: "element in the Body",
        }),
    }
}
