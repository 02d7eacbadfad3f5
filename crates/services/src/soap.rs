//! The two versions of SOAP: their namespaces, media types and the envelope around a body.
//!
//! The one rule it keeps: every envelope written here is in canonical form (exclusive and
//! inclusive), so that an engine that secures it may take the fast way, and byte counts are
//! comparable.

/// A version of SOAP. The media type of a request says which one it is, and its answer has the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SoapVersion {
    /// SOAP 1.1 (W3C Note, May 2000): `text/xml`.
    Soap11,
    /// SOAP 1.2 (W3C Recommendation, April 2007): `application/soap+xml`.
    Soap12,
}

impl SoapVersion {
    /// Both, the older first.
    pub const ALL: [SoapVersion; 2] = [SoapVersion::Soap11, SoapVersion::Soap12];

    /// The namespace of Envelope, Header, Body and Fault.
    pub const fn namespace(self) -> &'static str {
        match self {
            SoapVersion::Soap11 => "http://schemas.xmlsoap.org/soap/envelope/",
            SoapVersion::Soap12 => "http://www.w3.org/2003/05/soap-envelope",
        }
    }

    /// The media type, without parameters.
    pub const fn media_type(self) -> &'static str {
        match self {
            SoapVersion::Soap11 => "text/xml",
            SoapVersion::Soap12 => "application/soap+xml",
        }
    }

    /// The Content-Type of a message in UTF-8, as these services send it.
    pub const fn content_type(self) -> &'static str {
        match self {
            SoapVersion::Soap11 => "text/xml; charset=utf-8",
            SoapVersion::Soap12 => "application/soap+xml; charset=utf-8",
        }
    }

    /// How people call it.
    pub const fn name(self) -> &'static str {
        match self {
            SoapVersion::Soap11 => "SOAP 1.1",
            SoapVersion::Soap12 => "SOAP 1.2",
        }
    }

    /// Starts an envelope, up to the first child of its Body or, with a header, of its Header.
    fn start(self, first: &str, capacity: usize) -> Vec<u8> {
        const AROUND: usize = 160;
        let mut output = Vec::with_capacity(capacity + AROUND);
        output.extend_from_slice(b"<soap:Envelope xmlns:soap=\"");
        output.extend_from_slice(self.namespace().as_bytes());
        output.extend_from_slice(b"\">");
        output.extend_from_slice(first.as_bytes());
        output
    }

    /// Starts an envelope, up to its first header block, with room for `capacity` bytes of blocks
    /// and body.
    pub(crate) fn start_header(self, capacity: usize) -> Vec<u8> {
        self.start("<soap:Header>", capacity)
    }

    /// Starts an envelope, up to the content of its body, with room for `capacity` bytes of it.
    pub(crate) fn start_body(self, capacity: usize) -> Vec<u8> {
        self.start("<soap:Body>", capacity)
    }
}

/// What follows the last header block.
pub(crate) const HEADER_TO_BODY: &[u8] = b"</soap:Header><soap:Body>";
/// What follows the content of the body.
pub(crate) const END: &[u8] = b"</soap:Body></soap:Envelope>";
