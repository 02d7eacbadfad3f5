//! Children of `ds:KeyInfo`, for its `raw_key_info` parameters.
//!
//! Each is canonical where `ds` is declared by the `ds:KeyInfo` around it; whatever else it uses it
//! declares itself.

use soapstone_crypto::{Certificate, NameStyle, PublicKey};
use soapstone_xml::escape;

use super::element::{attribute, base64_text};
use crate::namespaces::DSIG11;

/// `ds:KeyName`.
pub fn key_name(name: &str, out: &mut Vec<u8>) {
    element("ds:KeyName", out, |out| escape::text(name, out));
}

/// `ds:KeyValue` of an RSA, DSA or EC key; nothing for keys that have none (Ed25519 …: use
/// [`der_encoded_key_value`]).
pub fn key_value(key: &PublicKey, out: &mut Vec<u8>) {
    if let Some((modulus, exponent)) = key.rsa_components() {
        element("ds:KeyValue", out, |out| {
            element("ds:RSAKeyValue", out, |out| {
                element("ds:Modulus", out, |out| base64_text(modulus, out));
                element("ds:Exponent", out, |out| base64_text(exponent, out));
            });
        });
    } else if let Some(numbers) = key.dsa_components() {
        element("ds:KeyValue", out, |out| {
            element("ds:DSAKeyValue", out, |out| {
                for (name, number) in ["ds:P", "ds:Q", "ds:G", "ds:Y"].into_iter().zip(numbers) {
                    element(name, out, |out| base64_text(number, out));
                }
            });
        });
    } else if let Some((curve, point)) = key.ec_components() {
        element("ds:KeyValue", out, |out| {
            out.extend_from_slice(b"<dsig11:ECKeyValue");
            attribute("xmlns:dsig11", DSIG11, out);
            out.extend_from_slice(b"><dsig11:NamedCurve");
            attribute("URI", curve.uri(), out);
            out.extend_from_slice(b"></dsig11:NamedCurve>");
            element("dsig11:PublicKey", out, |out| base64_text(point, out));
            out.extend_from_slice(b"</dsig11:ECKeyValue>");
        });
    }
}

/// `dsig11:DEREncodedKeyValue`.
pub fn der_encoded_key_value(key: &PublicKey, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<dsig11:DEREncodedKeyValue");
    attribute("xmlns:dsig11", DSIG11, out);
    out.push(b'>');
    base64_text(key.spki_der(), out);
    out.extend_from_slice(b"</dsig11:DEREncodedKeyValue>");
}

/// `ds:X509Data` with these certificates.
pub fn x509_certificates(certificates: &[Certificate], out: &mut Vec<u8>) {
    element("ds:X509Data", out, |out| {
        for certificate in certificates {
            certificate_alone(certificate, out);
        }
    });
}

fn certificate_alone(certificate: &Certificate, out: &mut Vec<u8>) {
    element("ds:X509Certificate", out, |out| {
        base64_text(certificate.der(), out)
    });
}

/// `ds:X509Data` with the issuer and serial number of `certificate`.
pub fn x509_issuer_serial(certificate: &Certificate, out: &mut Vec<u8>) {
    issuer_serial(certificate.issuer(), certificate, out);
}

/// `ds:X509Data` with the issuer and serial number of `certificate`, and the certificate behind it.
pub fn x509_issuer_serial_and_certificate(certificate: &Certificate, out: &mut Vec<u8>) {
    element("ds:X509Data", out, |out| {
        issuer_serial_alone(certificate.issuer(), certificate, out);
        certificate_alone(certificate, out);
    });
}

/// `ds:X509Data` with the issuer and serial number of `certificate`, the name in another style than
/// that of RFC 4514 (XML-DSig 4.5.4.1 recommends it, and .NET does not read all of it).
pub fn x509_issuer_serial_styled(certificate: &Certificate, style: NameStyle, out: &mut Vec<u8>) {
    issuer_serial(&certificate.issuer_name().to_text(style), certificate, out);
}

fn issuer_serial(issuer: &str, certificate: &Certificate, out: &mut Vec<u8>) {
    element("ds:X509Data", out, |out| {
        issuer_serial_alone(issuer, certificate, out);
    });
}

fn issuer_serial_alone(issuer: &str, certificate: &Certificate, out: &mut Vec<u8>) {
    element("ds:X509IssuerSerial", out, |out| {
        element("ds:X509IssuerName", out, |out| escape::text(issuer, out));
        element("ds:X509SerialNumber", out, |out| {
            escape::text(certificate.serial_decimal(), out)
        });
    });
}

/// `ds:X509Data` with the subject key identifier of `certificate`.
pub fn x509_ski(certificate: &Certificate, out: &mut Vec<u8>) {
    element("ds:X509Data", out, |out| {
        element("ds:X509SKI", out, |out| base64_text(certificate.ski(), out));
    });
}

pub(super) fn element(name: &str, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    // Tags and a short content.
    out.reserve(4 * name.len());
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
    content(out);
    out.extend_from_slice(b"</");
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
}
