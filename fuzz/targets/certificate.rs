//! Any bytes as a certificate, a path or a bundle: what is accepted writes and reads as itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::Certificate;
use soapstone_fuzz::keystores;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(certificate) = Certificate::from_der(bytes) {
        assert_eq!(certificate.der(), bytes, "every byte counts");
        keystores::certificate(&certificate);
    }
    for read in [
        Certificate::from_pki_path(bytes),
        Certificate::from_pkcs7(bytes),
        Certificate::from_file_contents(bytes),
    ] {
        read.into_iter()
            .flatten()
            .for_each(|it| keystores::certificate(&it));
    }
});
