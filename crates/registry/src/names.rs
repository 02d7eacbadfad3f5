//! Namespaces, and the keys of category systems that others defined.
//!
//! The rule kept here: each name is written once.

/// The namespace of UDDI version 3 (UDDI 3.0.2, section 5).
pub const UDDI: &str = "urn:uddi-org:api_v3";

/// The namespace of the project's own requests: reports, withdrawal, calls, and the look-up of
/// providers.
pub const OWN: &str = "urn:soapstone:registry:1";

/// The category system of local names (Using WSDL in a UDDI Registry 2.0.2, appendix B).
pub const XML_LOCAL_NAME: &str = "uddi:uddi.org:xml:localname";

/// The category system of namespace names (Using WSDL in a UDDI Registry 2.0.2, appendix B).
pub const XML_NAMESPACE: &str = "uddi:uddi.org:xml:namespace";

/// The tModel of SOAP as a protocol. The overview URL of its instance is the WSDL of a binding.
pub const PROTOCOL_SOAP: &str = "uddi:uddi.org:protocol:soap";

/// The category system of policies that are kept elsewhere (WS-PolicyAttachment 1.5, section 6.1).
pub const REMOTE_POLICY: &str = "uddi:w3.org:ws-policy:v1.5:attachment:remotepolicyreference";

/// The category system of agreements that a provider offers.
pub const AGREEMENT: &str = "uddi:soapstone:agreement-offer";

/// The use type of an access point that takes calls (UDDI 3.0.2, section 3.5.2.1).
pub const END_POINT: &str = "endPoint";

/// What keys begin with (UDDI 3.0.2, section 4.4).
pub(crate) const SCHEME: &str = "uddi:";
