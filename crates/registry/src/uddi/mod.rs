//! Requests and answers as the one element in a SOAP body.
//!
//! Elements of UDDI are in its namespace, and the project's own in theirs. A refusal is a
//! `dispositionReport`, which stands in the detail of a fault (UDDI 3.0.2, section 4.8).
//!
//! The rule kept here: an element or attribute without a place in the model is refused by name, and
//! none is read from another place than its own.

mod answers;
mod entities;
mod fields;
mod figures;
mod output;
mod requests;

use soapstone_xml::Element;

use crate::answer::Answer;
use crate::names::UDDI;
use crate::refusal::Refusal;
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

/// Reads an answer.
///
/// # Errors
///
/// What is wrong with it.
pub fn read_answer(body: Element<'_>) -> Result<Answer, Refusal> {
    answers::read(only(body)?)
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
