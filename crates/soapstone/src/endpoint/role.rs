//! What an endpoint is there for.

/// What an endpoint is there for, which decides the plans it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Secures single messages (`soapstone secure`).
    Secure,
    /// Opens single messages (`soapstone open`).
    Open,
    /// Opens requests and secures their responses: stands before a service.
    Service,
    /// Secures requests and opens their responses: stands behind a client.
    Client,
}
