//! Bounds of what is published (UDDI 3.0.2, section 3 and appendix of lengths).
//!
//! The rule kept here: what is kept is bounded in every dimension, whether it came as SOAP or as
//! JSON.

use crate::calls::{
    Calls, LARGEST_NUMBER, LONGEST_SOURCE, LONGEST_TEXT as LONGEST_OF_CALL, MOST_CALLS,
};
use crate::model::{
    BindingTemplate, BusinessEntity, BusinessService, KeyedReference, TModel, Text,
};
use crate::names::SCHEME;
use crate::refusal::Refusal;
use crate::report::Report;

/// Characters of names, descriptions, keys and values (UDDI 3.0.2, section 3.1).
const LONGEST_TEXT: usize = 255;
/// Characters of URLs (UDDI 3.0.2, section 3.1).
const LONGEST_URL: usize = 4096;
/// Names, descriptions, categories and tModels of one entry.
const MOST_PARTS: usize = 100;
/// Operations of one binding in a report.
const MOST_OPERATIONS: usize = 256;

fn few<T>(part: &'static str, items: &[T], most: usize) -> Result<(), Refusal> {
    match items.len() <= most {
        true => Ok(()),
        false => Err(Refusal::TooMany { part, most }),
    }
}

fn short(part: &'static str, text: &str, most: usize) -> Result<(), Refusal> {
    match text.chars().take(most + 1).count() <= most {
        true => Ok(()),
        false => Err(Refusal::TooMany { part, most }),
    }
}

fn texts(part: &'static str, texts: &[Text]) -> Result<(), Refusal> {
    few(part, texts, MOST_PARTS)?;
    texts.iter().try_for_each(|text| {
        short(part, &text.text, LONGEST_TEXT)?;
        short("xml:lang", text.lang.as_deref().unwrap_or_default(), 26)
    })
}

fn names(names: &[Text]) -> Result<(), Refusal> {
    match names.first() {
        Some(first) if !first.text.is_empty() => texts("name", names),
        _ => Err(Refusal::Missing { part: "name" }),
    }
}

fn categories(categories: &[KeyedReference]) -> Result<(), Refusal> {
    few("keyedReference", categories, MOST_PARTS)?;
    categories.iter().try_for_each(|it| {
        key("tModelKey", &it.t_model_key)?;
        short("keyName", &it.key_name, LONGEST_TEXT)?;
        short("keyValue", &it.key_value, LONGEST_TEXT)
    })
}

/// A key that is given: no control characters, and no white space.
pub(super) fn key(part: &'static str, key: &str) -> Result<(), Refusal> {
    if key.is_empty() {
        return Err(Refusal::Missing { part });
    }
    short(part, key, LONGEST_TEXT)?;
    match key.contains(|c: char| c.is_control() || c.is_whitespace()) {
        true => Err(Refusal::Value {
            part,
            expected: "a URI",
        }),
        false => Ok(()),
    }
}

/// A key that may be left to the registry. What a service is asked for by is its name or its key:
/// the scheme keeps keys out of the names that rules allow.
fn own_key(part: &'static str, own: &str) -> Result<(), Refusal> {
    if own.is_empty() {
        return Ok(());
    }
    key(part, own)?;
    match own.starts_with(SCHEME) {
        true => Ok(()),
        false => Err(Refusal::Value {
            part,
            expected: "a URI that begins with uddi:",
        }),
    }
}

/// An http or https URL without user, and with a path that means itself: no prefix of it can be
/// left again.
fn web_url(part: &'static str, url: &str) -> Result<(), Refusal> {
    short(part, url, LONGEST_URL)?;
    let expected = "an http or https URL without user, fragment and dot segments";
    let rest = url.strip_prefix("http://");
    let rest = rest.or_else(|| url.strip_prefix("https://"));
    let is_plain = rest.is_some_and(|rest| {
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let lower = path.to_ascii_lowercase();
        !authority.is_empty()
            && !authority.contains('@')
            && !path.contains('#')
            && !["/.", "%2e", "%2f", "%5c"]
                .iter()
                .any(|it| lower.contains(it))
            && rest.chars().all(|c| c.is_ascii_graphic() && c != '\\')
    });
    match is_plain {
        true => Ok(()),
        false => Err(Refusal::Value { part, expected }),
    }
}

pub(super) fn business(business: &BusinessEntity) -> Result<(), Refusal> {
    own_key("businessKey", &business.business_key)?;
    names(&business.names)?;
    texts("description", &business.descriptions)?;
    categories(&business.categories)
}

pub(super) fn service(service: &BusinessService) -> Result<(), Refusal> {
    own_key("serviceKey", &service.service_key)?;
    key("businessKey", &service.business_key)?;
    names(&service.names)?;
    texts("description", &service.descriptions)?;
    categories(&service.categories)
}

pub(super) fn binding(binding: &BindingTemplate) -> Result<(), Refusal> {
    own_key("bindingKey", &binding.binding_key)?;
    key("serviceKey", &binding.service_key)?;
    texts("description", &binding.descriptions)?;
    web_url("accessPoint", &binding.access_point)?;
    short("useType", &binding.use_type, LONGEST_TEXT)?;
    few("tModelInstanceInfo", &binding.t_models, MOST_PARTS)?;
    for instance in &binding.t_models {
        key("tModelKey", &instance.t_model_key)?;
        texts("description", &instance.descriptions)?;
        short(
            "instanceParms",
            instance.parameters.as_deref().unwrap_or_default(),
            8192,
        )?;
        if let Some(url) = &instance.overview_url {
            web_url("overviewURL", url)?;
        }
    }
    categories(&binding.categories)
}

pub(super) fn t_model(model: &TModel) -> Result<(), Refusal> {
    own_key("tModelKey", &model.t_model_key)?;
    names(std::slice::from_ref(&model.name))?;
    texts("description", &model.descriptions)?;
    few("overviewURL", &model.overview_urls, MOST_PARTS)?;
    for url in &model.overview_urls {
        short("overviewURL", url, LONGEST_URL)?;
    }
    categories(&model.categories)
}

pub(super) fn calls(told: &Calls) -> Result<(), Refusal> {
    few("call", &told.calls, MOST_CALLS)?;
    if told.calls.is_empty() {
        return Err(Refusal::Missing { part: "call" });
    }
    key("source", &told.source)?;
    short("source", &told.source, LONGEST_SOURCE)?;
    for call in &told.calls {
        for (part, text) in call.texts() {
            let text = text.unwrap_or_default();
            short(part, text, LONGEST_OF_CALL)?;
            // Databases do not hold all of them.
            if text.contains(char::is_control) {
                let expected = "a text without control characters";
                return Err(Refusal::Value { part, expected });
            }
        }
        for (part, number) in call.numbers() {
            if number > Some(LARGEST_NUMBER) {
                let expected = "a number below 2^48";
                return Err(Refusal::Value { part, expected });
            }
        }
    }
    Ok(())
}

pub(super) fn report(report: &Report) -> Result<(), Refusal> {
    few("route", &report.bindings, MOST_PARTS * 10)?;
    if report.period == 0 {
        let (part, expected) = ("period", "longer than nothing");
        return Err(Refusal::Value { part, expected });
    }
    let is_sound = |number: f64| number.is_finite() && number >= 0.0;
    for figures in &report.bindings {
        few("operation", &figures.operations, MOST_OPERATIONS)?;
        for operation in &figures.operations {
            short("operation", &operation.name, LONGEST_TEXT * 2)?;
        }
    }
    let host = report
        .host
        .figures()
        .into_iter()
        .filter_map(|(_, _, it)| it);
    let mut numbers = report
        .bindings
        .iter()
        .flat_map(|it| it.numbers())
        .chain(host);
    match numbers.all(is_sound) {
        true => Ok(()),
        false => Err(Refusal::Value {
            part: "a figure",
            expected: "a finite number that is not negative",
        }),
    }
}
