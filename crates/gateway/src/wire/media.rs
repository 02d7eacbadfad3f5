//! Media types of SOAP messages over HTTP.
//!
//! The rule kept here: what the gateway writes is UTF-8 and says so; what else a `Content-Type`
//! says (`action` above all, SOAP 1.2 part 2 section 6.5.3, RFC 3902) is passed on.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue, header};
use soapstone::wss::SoapVersion;

/// The version that a `Content-Type` speaks of: `None` when it is of no SOAP message without
/// attachments.
pub(crate) fn version_of(headers: &HeaderMap) -> Option<SoapVersion> {
    let essence = content_type(headers)?.split(';').next()?.trim();
    if essence.eq_ignore_ascii_case(SoapVersion::V11.media_type()) {
        Some(SoapVersion::V11)
    } else if essence.eq_ignore_ascii_case(SoapVersion::V12.media_type()) {
        Some(SoapVersion::V12)
    } else {
        None
    }
}

/// The same where the message is not compressed, or encoded otherwise, either.
pub(crate) fn uncoded_version_of(headers: &HeaderMap) -> Option<SoapVersion> {
    version_of(headers).filter(|_| !headers.contains_key(header::CONTENT_ENCODING))
}

/// What the fields say that a body is, for operators.
pub(crate) fn said(headers: &HeaderMap) -> String {
    let said = |name| headers.get(name).map(|found| found.to_str().unwrap_or("?"));
    let found = said(header::CONTENT_TYPE).unwrap_or("no content type");
    match said(header::CONTENT_ENCODING) {
        Some(encoding) => format!("{found} encoded as {encoding}"),
        None => found.to_owned(),
    }
}

/// The `Content-Type` for a message in UTF-8 that takes the place of one with these headers.
pub(crate) fn rewritten(headers: &HeaderMap, version: SoapVersion) -> HeaderValue {
    let usual = plain(version);
    if headers.get(header::CONTENT_TYPE) == Some(&usual) {
        // What most peers write, and nothing to be changed.
        return usual;
    }
    let mut written = format!("{}; charset=utf-8", version.media_type());
    for parameter in parameters(content_type(headers).unwrap_or_default()) {
        let name = plain_name(parameter.split('=').next().unwrap_or_default());
        if !name.is_empty() && !name.eq_ignore_ascii_case("charset") {
            written.push_str("; ");
            written.push_str(parameter.trim());
        }
    }
    HeaderValue::try_from(written).unwrap_or_else(|_| plain(version))
}

/// What a request says that it is about: its `SOAPAction` in SOAP 1.1, the `action` of its
/// `Content-Type` in SOAP 1.2.
pub(crate) fn action_of(headers: &HeaderMap) -> Option<String> {
    let media_type = content_type(headers)?;
    let parameter = parameters(media_type).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("action").then_some(value)
    });
    let action = parameter.or_else(|| headers.get("soapaction")?.to_str().ok())?;
    let action = action.trim().trim_matches('"');
    (!action.is_empty()).then(|| action.to_owned())
}

/// Everything that a request says beside its message of what it is about: each `action` of its
/// `Content-Type`, and each `SOAPAction`. Which of them a service listens to is not known, so that
/// all of them count.
pub(crate) fn actions_of(headers: &HeaderMap) -> Vec<String> {
    let of_type = parameters(content_type(headers).unwrap_or_default()).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        // Nothing is decoded: no SOAP stack writes extended parameters, and no action is spelled
        // so.
        plain_name(name)
            .eq_ignore_ascii_case("action")
            .then_some(value)
    });
    let fields = headers
        .get_all("soapaction")
        .into_iter()
        .map(|field| String::from_utf8_lossy(field.as_bytes()));
    let mut actions: Vec<String> = of_type
        .map(Cow::Borrowed)
        .chain(fields)
        .map(|action| action.trim().trim_matches('"').to_owned())
        .filter(|action| !action.is_empty())
        .collect();
    actions.dedup();
    actions
}

/// Everything beside a message that a careless reader could take for what the message is about:
/// what [`actions_of`] gives, parameters whose names only end like that of the action, and values
/// that hold another parameter.
pub(crate) fn claims_of(headers: &HeaderMap) -> Vec<String> {
    let mut claims = actions_of(headers);
    for parameter in parameters(content_type(headers).unwrap_or_default()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let name = plain_name(name).to_ascii_lowercase();
        if name != "action" && name.ends_with("action") {
            claims.push(value.trim().trim_matches('"').to_owned());
        } else if name != "action" && value.to_ascii_lowercase().contains("action") {
            claims.push(parameter.trim().to_owned());
        }
    }
    claims
}

/// Bytes of the longest action that is said beside a message: URIs of that length, every recipient
/// should take (RFC 9110, 4.1).
const LONGEST_ACTION: usize = 8000;

/// Has the `Content-Type` of a request in SOAP 1.2 say what the request is about, where nothing
/// beside the message does.
///
/// In SOAP 1.1 every client says something, and an empty `SOAPAction` is what it has to say where
/// the WSDL has none (WS-I Basic Profile 1.1, R2745): services refuse another one.
pub(crate) fn say_action(headers: &mut HeaderMap, version: SoapVersion, action: &str) {
    let is_sayable = |octet: u8| octet.is_ascii_graphic() && octet != b'"' && octet != b'\\';
    if action.is_empty() || action.len() > LONGEST_ACTION || !action.bytes().all(is_sayable) {
        return;
    }
    let Some(media_type) = content_type(headers).filter(|_| version == SoapVersion::V12) else {
        return;
    };
    let says_one = parameters(media_type).any(|parameter| {
        let name = plain_name(parameter.split('=').next().unwrap_or_default());
        name.eq_ignore_ascii_case("action")
    });
    if says_one || !actions_of(headers).is_empty() {
        return;
    }
    if let Ok(said) = HeaderValue::try_from(format!("{media_type}; action=\"{action}\"")) {
        headers.insert(header::CONTENT_TYPE, said);
    }
}

/// The `Content-Type` of a message of ours.
pub(crate) fn plain(version: SoapVersion) -> HeaderValue {
    HeaderValue::from_static(match version {
        SoapVersion::V11 => "text/xml; charset=utf-8",
        SoapVersion::V12 => "application/soap+xml; charset=utf-8",
    })
}

/// The `Content-Type` of a message of ours with that action. In SOAP 1.1 the action has a header
/// field of its own.
pub(crate) fn with_action(version: SoapVersion, action: &str) -> HeaderValue {
    if version == SoapVersion::V11 || action.is_empty() || action.contains(['"', '\\']) {
        return plain(version);
    }
    let media_type = version.media_type();
    HeaderValue::try_from(format!("{media_type}; charset=utf-8; action=\"{action}\""))
        .unwrap_or_else(|_| plain(version))
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}

/// The name of a parameter, which `name*` and `name*0` say, too (RFC 2231, 3 and 4).
fn plain_name(name: &str) -> &str {
    name.split('*').next().unwrap_or_default().trim()
}

/// What follows the essence, split at semicolons outside quotes.
fn parameters(media_type: &str) -> impl Iterator<Item = &str> {
    let (_, mut rest) = cut(media_type);
    std::iter::from_fn(move || {
        let (parameter, behind) = cut(rest?);
        rest = behind;
        Some(parameter)
    })
}

/// What stands before the first semicolon outside quotes, and behind it.
fn cut(text: &str) -> (&str, Option<&str>) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' if !quoted => return (&text[..at], Some(&text[at + 1..])),
            _ => {}
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(content_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))])
    }

    #[test]
    fn an_action_is_kept_and_another_charset_is_not() {
        let headers = headers("Application/SOAP+XML; charset=UTF-16; action=\"urn:a;b\"");
        assert_eq!(version_of(&headers), Some(SoapVersion::V12));
        assert_eq!(
            rewritten(&headers, SoapVersion::V12),
            "application/soap+xml; charset=utf-8; action=\"urn:a;b\""
        );
    }

    #[test]
    fn what_needs_no_change_is_left_as_it_is() {
        for usual in [
            "text/xml; charset=utf-8",
            "application/soap+xml; charset=utf-8",
        ] {
            let headers = headers(usual);
            let version = version_of(&headers).expect("a version");
            assert_eq!(rewritten(&headers, version), usual);
        }
        // What is written is of another version than what was announced.
        let headers = headers("application/soap+xml; charset=utf-8");
        let of_11 = rewritten(&headers, SoapVersion::V11);
        assert_eq!(of_11, "text/xml; charset=utf-8");
    }

    /// The bytes are UTF-8; a reader of RFC 2231 would believe the other one.
    #[test]
    fn another_charset_in_an_extended_parameter_is_not_kept() {
        let headers = headers(
            "text/xml; charset*=us-ascii'en'utf-7; Charset *0=utf; charset*1*=%2d7; charset = utf-16; version=1",
        );
        assert_eq!(
            rewritten(&headers, SoapVersion::V11),
            "text/xml; charset=utf-8; version=1"
        );
    }

    #[test]
    fn an_action_is_found_where_its_version_has_it() {
        let mut of_11 = headers("text/xml; charset=utf-8");
        of_11.insert("soapaction", HeaderValue::from_static("\"urn:a\""));
        assert_eq!(action_of(&of_11).as_deref(), Some("urn:a"));
        let of_12 = headers("application/soap+xml; Action = \"urn:a;b\"; charset=utf-8");
        assert_eq!(action_of(&of_12).as_deref(), Some("urn:a;b"));
        of_11.insert("soapaction", HeaderValue::from_static("\"\""));
        assert_eq!(action_of(&of_11), None);
    }

    #[test]
    fn every_action_that_is_said_counts() {
        let mut said = headers("text/xml; action=\"urn:a\"; ACTION=urn:b");
        for field in ["\"urn:c\"", "\"\"", "urn:c"] {
            said.append("soapaction", HeaderValue::from_static(field));
        }
        assert_eq!(actions_of(&said), ["urn:a", "urn:b", "urn:c"]);
    }

    #[test]
    fn an_action_in_an_extended_parameter_counts() {
        let said = headers(
            "application/soap+xml; action=\"urn:a\"; action*=utf-8''urn%3Ab; Action *0=\"urn:\"",
        );
        assert_eq!(actions_of(&said), ["urn:a", "utf-8''urn%3Ab", "urn:"]);
    }

    #[test]
    fn what_a_careless_reader_takes_for_an_action_is_claimed() {
        let said = |text| claims_of(&headers(text));
        assert_eq!(
            said("application/soap+xml; transaction=urn:books/Delete; action=\"urn:books/Get\""),
            ["urn:books/Get", "urn:books/Delete"]
        );
        assert_eq!(
            said("application/soap+xml; x=\"a;action=urn:books/Delete\""),
            ["x=\"a;action=urn:books/Delete\""]
        );
        assert!(said("application/soap+xml; charset=utf-8").is_empty());
    }

    #[test]
    fn an_action_is_said_in_soap_1_2_where_nothing_says_one() {
        use SoapVersion::{V11, V12};
        for (version, content_type, field, is_said) in [
            (V12, "a/b; x=1", None, true),
            (V12, "a/b; x=1", Some("\"\""), true),
            (V12, "a/b; x=1", Some("urn:b"), false),
            (V12, "a/b; Action=c", None, false),
            (V12, "a/b; action=\"\"", None, false),
            (V12, "a/b; action*0=c", None, false),
            (V11, "a/b", None, false),
            (V11, "a/b", Some("\"\""), false),
        ] {
            let mut said = headers(content_type);
            if let Some(field) = field {
                said.insert("soapaction", HeaderValue::from_static(field));
            }
            let before = said.clone();
            say_action(&mut said, version, "urn:a");
            assert_eq!(said != before, is_said, "{content_type} {field:?}");
            if is_said {
                assert_eq!(said["content-type"], "a/b; x=1; action=\"urn:a\"");
                assert_eq!(said.get("soapaction"), before.get("soapaction"));
            }
        }
    }

    #[test]
    fn what_is_no_uri_is_said_in_no_field() {
        let longest = format!("urn:{}", "a".repeat(LONGEST_ACTION - 4));
        let longer = format!("{longest}a");
        for (action, is_said) in [
            ("", false),
            ("urn:a\"; action=\"urn:b", false),
            ("urn:\\a", false),
            ("urn:a b", false),
            ("urn:a\r\nx: y", false),
            ("urn:\u{e4}", false),
            (&longer, false),
            (&longest, true),
        ] {
            let mut said = headers("a/b");
            say_action(&mut said, SoapVersion::V12, action);
            assert_eq!(said != headers("a/b"), is_said, "{action}");
        }
    }

    #[test]
    fn a_message_with_attachments_is_of_no_version() {
        assert_eq!(
            version_of(&headers("multipart/related; type=\"text/xml\"")),
            None
        );
        assert_eq!(version_of(&HeaderMap::new()), None);
    }
}
