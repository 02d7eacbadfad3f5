//! Reports and figures, read and written.
//!
//! The rule kept here: a figure that is absent is unknown, and never zero, where the model can say
//! so.

use soapstone_xml::Element;

use super::fields::Fields;
use super::output::Output;
use crate::refusal::Refusal;
use crate::report::{Figures, Host, Operation, Report, Times};

pub(super) fn read_report(mut fields: Fields<'_>) -> Result<Report, Refusal> {
    let missing = |part| move || Refusal::Missing { part };
    let host = fields.one("host")?.map(read_host).transpose()?;
    let report = Report {
        taken: fields.number("taken")?.ok_or_else(missing("taken"))?,
        period: fields.number("period")?.ok_or_else(missing("period"))?,
        host: host.unwrap_or_default(),
        bindings: super::entities::each(fields.all("binding"), read_figures)?,
    };
    fields.finish()?;
    Ok(report)
}

pub(super) fn write_report(output: &mut Output, report: &Report) {
    write_host(output, &report.host);
    for figures in &report.bindings {
        write_figures(output, figures);
    }
}

pub(super) fn read_host(element: Element<'_>) -> Result<Host, Refusal> {
    let mut fields = Fields::of(element);
    let mut host = Host::default();
    for (name, _, _) in Host::default().figures() {
        if let Some(figure) = host.figure_mut(name) {
            *figure = fields.number(name)?;
        }
    }
    fields.finish()?;
    Ok(host)
}

pub(super) fn write_host(output: &mut Output, host: &Host) {
    let known = host.figures().into_iter();
    let known = known.filter_map(|(name, _, value)| Some((name, value?.to_string())));
    let known: Vec<(&str, String)> = known.collect();
    let attributes: Vec<(&str, &str)> = known
        .iter()
        .map(|(name, it)| (*name, it.as_str()))
        .collect();
    output.leaf("host", &attributes, "");
}

pub(super) fn read_figures(element: Element<'_>) -> Result<Figures, Refusal> {
    let mut fields = Fields::of(element);
    let figures = Figures {
        binding_key: fields.word("bindingKey"),
        in_hand: number(&mut fields, "inHand")?,
        queue: number(&mut fields, "queue")?,
        calls: number(&mut fields, "calls")?,
        errors: number(&mut fields, "errors")?,
        refusals: number(&mut fields, "refusals")?,
        security_share: number(&mut fields, "securityShare")?,
        service: read_times(fields.one("service")?)?,
        backend: read_times(fields.one("backend")?)?,
        operations: super::entities::each(fields.all("operation"), read_operation)?,
    };
    fields.finish()?;
    Ok(figures)
}

fn read_operation(element: Element<'_>) -> Result<Operation, Refusal> {
    let mut fields = Fields::of(element);
    let operation = Operation {
        name: fields.word("name"),
        in_hand: number(&mut fields, "inHand")?,
        calls: number(&mut fields, "calls")?,
        errors: number(&mut fields, "errors")?,
        refusals: number(&mut fields, "refusals")?,
        security_share: number(&mut fields, "securityShare")?,
        service: read_times(fields.one("service")?)?,
        backend: read_times(fields.one("backend")?)?,
    };
    fields.finish()?;
    Ok(operation)
}

fn read_times(element: Option<Element<'_>>) -> Result<Times, Refusal> {
    let Some(element) = element else {
        return Ok(Times::default());
    };
    let mut fields = Fields::of(element);
    let times = Times {
        mean: number(&mut fields, "mean")?,
        p50: number(&mut fields, "p50")?,
        p95: number(&mut fields, "p95")?,
    };
    fields.finish()?;
    Ok(times)
}

fn number(fields: &mut Fields<'_>, name: &'static str) -> Result<f64, Refusal> {
    Ok(fields.number(name)?.unwrap_or_default())
}

pub(super) fn write_figures(output: &mut Output, figures: &Figures) {
    let numbers = [
        ("inHand", figures.in_hand),
        ("queue", figures.queue),
        ("calls", figures.calls),
        ("errors", figures.errors),
        ("refusals", figures.refusals),
        ("securityShare", figures.security_share),
    ];
    open_numbered(
        output,
        "binding",
        ("bindingKey", &figures.binding_key),
        &numbers,
    );
    write_times(output, "service", figures.service);
    write_times(output, "backend", figures.backend);
    for operation in &figures.operations {
        write_operation(output, operation);
    }
    output.close("binding");
}

fn write_operation(output: &mut Output, operation: &Operation) {
    let numbers = [
        ("inHand", operation.in_hand),
        ("calls", operation.calls),
        ("errors", operation.errors),
        ("refusals", operation.refusals),
        ("securityShare", operation.security_share),
    ];
    open_numbered(output, "operation", ("name", &operation.name), &numbers);
    write_times(output, "service", operation.service);
    write_times(output, "backend", operation.backend);
    output.close("operation");
}

/// Opens an element with its name and numbers.
fn open_numbered(output: &mut Output, element: &str, named: (&str, &str), numbers: &[(&str, f64)]) {
    let numbers = numbers.iter();
    let numbers: Vec<(&str, String)> = numbers
        .map(|(name, number)| (*name, number.to_string()))
        .collect();
    let mut attributes = vec![named];
    attributes.extend(
        numbers
            .iter()
            .map(|(name, number)| (*name, number.as_str())),
    );
    output.open(element, &attributes);
}

fn write_times(output: &mut Output, name: &str, times: Times) {
    let [mean, p50, p95] = [times.mean, times.p50, times.p95].map(|it| it.to_string());
    output.leaf(name, &[("mean", &mean), ("p50", &p50), ("p95", &p95)], "");
}
