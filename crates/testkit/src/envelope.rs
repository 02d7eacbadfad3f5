//! SOAP messages of tests.
//!
//! The rule kept here: messages are text. Each crate parses them by the way that it tests.

/// The namespace of SOAP 1.1.
pub const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// The namespace of SOAP 1.2.
pub const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";
/// The namespace of WS-Addressing 1.0.
pub const ADDRESSING: &str = "http://www.w3.org/2005/08/addressing";

/// The content of a Body that says `hello`.
macro_rules! hello {
    () => {
        "<e:echo xmlns:e=\"urn:echo\">hello</e:echo>"
    };
}

/// A message of SOAP 1.1 without a Header, whose Body says `hello`.
pub const ECHO: &str = concat!(
    "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>",
    hello!(),
    "</s:Body></s:Envelope>"
);

/// A message of SOAP 1.2 without a Header, whose Body says `hello`.
pub const ECHO_12: &str = concat!(
    "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body>",
    hello!(),
    "</s:Body></s:Envelope>"
);

/// The content of the Body of [`ECHO`].
pub const HELLO: &str = hello!();

/// A message of SOAP 1.1 with a Body.
pub fn with_body(body: &str) -> String {
    format!("<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body>{body}</s:Body></s:Envelope>")
}

/// A message with header blocks and a Body; the prefix `a` stands for WS-Addressing.
pub fn with_header(soap: &str, header: &str, body: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"{soap}\" xmlns:a=\"{ADDRESSING}\"><s:Header>{header}</s:Header>\
         <s:Body>{body}</s:Body></s:Envelope>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_echo_of_both_versions_has_the_same_body() {
        assert_eq!(ECHO, with_body(HELLO));
        assert_eq!(ECHO_12, ECHO.replace(SOAP11, SOAP12));
    }
}
