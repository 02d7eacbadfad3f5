//! Files made by `openssl` and `keytool` are read, and files made here are read by them.
//!
//! The programs are run by the tests. Where one is not installed, its tests say so loudly and pass,
//! but not in continuous integration.

use std::process::Command;

use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::{
    Certificate, CryptoError, Curve, Identity, KeyKind, KeyStore, PrivateKey, SignatureAlgorithm,
};
use soapstone_testkit::Folder;

/// Runs a command line, split at spaces, in the folder; `~` inside an argument stands for a space.
/// `None`: the program is not installed.
fn run(folder: &Folder, line: &str) -> Option<String> {
    let mut words = line.split(' ').map(|word| word.replace('~', " "));
    let program = words.next().unwrap();
    let Ok(output) = Command::new(&program)
        .args(words)
        .current_dir(folder.root())
        .output()
    else {
        let text = format!("`{program}` is not installed, so nothing is known about its files");
        assert!(std::env::var_os("CI").is_none(), "{text}");
        eprintln!("SKIPPED: {text}");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{line}\n{text}");
    Some(text)
}

fn signs(identity: &Identity) {
    let algorithm = match identity.key().kind() {
        KeyKind::Rsa { .. } => SignatureAlgorithm::RsaSha256,
        KeyKind::Ec(Curve::P256) => SignatureAlgorithm::EcdsaSha256,
        other => panic!("no test key is {other}"),
    };
    let signature = identity.key().sign(algorithm, b"message").unwrap();
    identity
        .certificate()
        .public_key()
        .verify(algorithm, b"message", &signature)
        .unwrap();
}

const MAKE: &str = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=peer/O=Acme";

#[test]
fn pkcs12_files_of_openssl_are_read_in_every_encryption() {
    let folder = Folder::new();
    if run(&folder, MAKE).is_none() {
        return;
    }
    for (name, options) in [
        ("modern", ""),
        ("legacy", " -legacy"),
        (
            "tripledes",
            " -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1",
        ),
        (
            "aes128",
            " -keypbe AES-128-CBC -certpbe AES-128-CBC -macalg sha512",
        ),
        ("no mac", " -nomac"),
    ] {
        let line = format!(
            "openssl pkcs12 -export -inkey key.pem -in cert.pem -name peer -passout pass:pä$$wörd -out file.p12{options}"
        );
        run(&folder, &line).unwrap();
        let file = folder.read("file.p12");
        let identity = Identity::from_pkcs12(&file, "pä$$wörd").unwrap();
        assert!(
            identity.certificate().subject_matches("CN=peer,O=Acme"),
            "{name}"
        );
        signs(&identity);
        let store = KeyStore::from_pkcs12(&file, "pä$$wörd").unwrap();
        assert_eq!(store.key_aliases().collect::<Vec<_>>(), ["peer"], "{name}");
        let wrong = Identity::from_pkcs12(&file, "password").map(drop);
        assert_eq!(wrong, Err(CryptoError::WrongPassword), "{name}");
    }
}

#[test]
fn pkcs12_files_of_openssl_without_password_or_without_encryption_are_read() {
    let folder = Folder::new();
    if run(&folder, MAKE).is_none() {
        return;
    }
    for options in ["", " -keypbe NONE -certpbe NONE"] {
        run(&folder, &format!(
                "openssl pkcs12 -export -inkey key.pem -in cert.pem -passout pass: -out file.p12{options}"
            ))
            .unwrap();
        signs(&Identity::from_pkcs12(&folder.read("file.p12"), "").unwrap());
    }
}

#[test]
fn a_chain_in_a_pkcs12_file_comes_in_order() {
    let folder = Folder::new();
    let validity = Validity::days(jiff::Timestamp::now(), 30);
    let template = |subject| Template::new(subject, validity).unwrap();
    let kind = KeyKind::Ec(Curve::P256);
    let root = issue::authority("CN=root", kind, validity).unwrap();
    let between = issue::identity(&root, kind, &template("CN=between").for_authority()).unwrap();
    let leaf = issue::identity(&between, kind, &template("CN=leaf")).unwrap();
    let chain = [
        root.certificate(),
        between.certificate(),
        leaf.certificate(),
    ];
    let shuffled: String = chain.iter().map(|one| one.to_pem()).collect();
    folder.write("all.pem", shuffled.as_bytes());
    folder.write("key.pem", leaf.key().to_pem(None).unwrap().expose());
    let line =
        "openssl pkcs12 -export -inkey key.pem -in all.pem -passout pass:secret -out file.p12";
    if run(&folder, line).is_none() {
        return;
    }
    let read = Identity::from_pkcs12(&folder.read("file.p12"), "secret").unwrap();
    assert_eq!(read.certificate(), leaf.certificate());
    assert_eq!(
        read.chain(),
        [between.certificate().clone(), root.certificate().clone()]
    );
    signs(&read);
}

#[test]
fn pkcs12_files_made_here_are_read_by_openssl_and_keytool() {
    let folder = Folder::new();
    let validity = Validity::days(jiff::Timestamp::now(), 30);
    let template = Template::new("CN=client,O=Acme", validity).unwrap();
    let root = issue::authority("CN=root", KeyKind::Rsa { bits: 2048 }, validity).unwrap();
    let leaf = issue::identity(&root, KeyKind::Rsa { bits: 2048 }, &template).unwrap();
    let file = leaf.to_pkcs12("secret", "client").unwrap();
    signs(&Identity::from_pkcs12(&file, "secret").unwrap());
    folder.write("file.p12", &file);
    if let Some(text) = run(
        &folder,
        "openssl pkcs12 -in file.p12 -passin pass:secret -nodes",
    ) {
        assert!(text.contains("friendlyName: client"), "{text}");
        assert!(text.contains("BEGIN PRIVATE KEY"), "{text}");
    }
    if let Some(text) = run(
        &folder,
        "keytool -list -keystore file.p12 -storepass secret",
    ) {
        assert!(
            text.contains("client, ") && text.contains("PrivateKeyEntry"),
            "{text}"
        );
    }
}

#[test]
fn keystores_of_java_are_read_with_all_their_entries() {
    let folder = Folder::new();
    for kind in ["PKCS12", "JKS"] {
        let file = format!("{kind}.store");
        let store = format!("-keystore {file} -storetype {kind} -storepass storepass");
        let key = |alias: &str, rest: &str| {
            format!(
                "keytool -genkeypair {store} -alias {alias} -dname CN={alias},O=Acme -validity 30 {rest}"
            )
        };
        // Only a JKS has passwords for single keys.
        let other = if kind == "JKS" {
            "keypass"
        } else {
            "storepass"
        };
        let rsa = key(
            "First",
            &format!("-keyalg RSA -keysize 2048 -keypass {other}"),
        );
        if run(&folder, &rsa).is_none() {
            return;
        }
        run(
            &folder,
            &key(
                "second",
                "-keyalg EC -groupname secp256r1 -keypass storepass",
            ),
        )
        .unwrap();
        let exported = format!("keytool -exportcert {store} -alias second -rfc -file {kind}.pem");
        run(&folder, &exported).unwrap();
        run(
            &folder,
            &format!("keytool -importcert {store} -alias partner -file {kind}.pem -noprompt"),
        )
        .unwrap();

        let read = KeyStore::from_file_contents(&folder.read(&file), "storepass").unwrap();
        let mut aliases: Vec<&str> = read.key_aliases().collect();
        aliases.sort_unstable();
        assert_eq!(aliases, ["first", "second"], "{kind}");
        signs(&read.identity(Some("FIRST"), other).unwrap());
        signs(&read.identity(Some("second"), "storepass").unwrap());
        let partner = Certificate::from_pem(&folder.read(format!("{kind}.pem"))).unwrap();
        let trusted: Vec<_> = read.certificates().collect();
        assert_eq!(trusted, [("partner", &partner)], "{kind}");
        assert_eq!(read.chain("second"), Some(&[partner][..]));

        assert_eq!(
            read.identity(Some("first"), "wrong").map(drop),
            Err(CryptoError::WrongPassword),
            "{kind}"
        );
        assert!(matches!(
            read.identity(None, "storepass").map(drop),
            Err(CryptoError::NoSuchEntry { alias, available }) if alias.is_empty() && available.len() == 2
        ));
        assert_eq!(
            KeyStore::from_file_contents(&folder.read(&file), "wrong").map(drop),
            Err(CryptoError::WrongPassword),
            "{kind}"
        );
    }
}

#[test]
fn damaged_keystores_are_refused_without_panic() {
    let folder = Folder::new();
    let line = "keytool -genkeypair -keystore a.jks -storetype JKS -storepass storepass -alias a -dname CN=a -keyalg EC -groupname secp256r1 -keypass storepass";
    let validity = Validity::days(jiff::Timestamp::now(), 30);
    let own = issue::authority("CN=a", KeyKind::Ec(Curve::P256), validity).unwrap();
    let mut files = vec![own.to_pkcs12("storepass", "a").unwrap()];
    if run(&folder, line).is_some() {
        files.push(folder.read("a.jks"));
    }
    for file in files {
        for length in (0..file.len()).step_by(7) {
            assert!(KeyStore::from_file_contents(&file[..length], "storepass").is_err());
        }
    }
    assert!(matches!(
        KeyStore::from_jks(&[0xce, 0xce, 0xce, 0xce, 0, 0, 0, 2], "x"),
        Err(CryptoError::Unsupported { .. })
    ));
}

#[test]
fn private_keys_of_openssl_are_read_in_every_container() {
    let folder = Folder::new();
    if run(&folder, "openssl genrsa -out rsa.pem 2048").is_none() {
        return;
    }
    for line in [
        "openssl rsa -in rsa.pem -traditional -out pkcs1.pem",
        "openssl rsa -in rsa.pem -traditional -aes128 -passout pass:secret -out pkcs1-encrypted.pem",
        "openssl pkcs8 -topk8 -in rsa.pem -passout pass:secret -out pkcs8-encrypted.pem",
        "openssl pkcs8 -topk8 -in rsa.pem -v1 PBE-SHA1-3DES -passout pass:secret -out pkcs8-old.pem",
        "openssl ecparam -name prime256v1 -genkey -out sec1.pem",
        "openssl genpkey -algorithm ed25519 -out ed25519.pem",
        "openssl genpkey -algorithm x25519 -out x25519.pem",
        "openssl dsaparam -genkey -out dsa.pem 1024",
        "openssl rsa -in rsa.pem -outform DER -out rsa.der",
        "openssl pkcs8 -topk8 -in rsa.pem -passout pass:secret -outform DER -out encrypted.der",
        "openssl rsa -in rsa.pem -pubout -out public.pem",
        "openssl rsa -in rsa.pem -RSAPublicKey_out -out rsa-public.pem",
    ] {
        run(&folder, line).unwrap();
    }
    let rsa = KeyKind::Rsa { bits: 2048 };
    let original = PrivateKey::from_pem(&folder.read("rsa.pem"), None).unwrap();
    for (name, password, kind) in [
        ("pkcs1.pem", None, rsa),
        ("pkcs1.pem", Some("ignored"), rsa),
        ("pkcs1-encrypted.pem", Some("secret"), rsa),
        ("pkcs8-encrypted.pem", Some("secret"), rsa),
        ("pkcs8-old.pem", Some("secret"), rsa),
        ("sec1.pem", None, KeyKind::Ec(Curve::P256)),
        ("ed25519.pem", None, KeyKind::Ed25519),
        ("x25519.pem", None, KeyKind::X25519),
        ("dsa.pem", None, KeyKind::Dsa { bits: 1024 }),
    ] {
        let key = PrivateKey::from_pem(&folder.read(name), password).unwrap();
        assert_eq!(key.kind(), kind, "{name}");
        if kind == rsa {
            assert_eq!(key.public_key(), original.public_key(), "{name}");
        }
    }
    for name in [
        "pkcs1-encrypted.pem",
        "pkcs8-encrypted.pem",
        "pkcs8-old.pem",
    ] {
        let with = |password| PrivateKey::from_pem(&folder.read(name), password).map(drop);
        assert_eq!(with(None), Err(CryptoError::PasswordNeeded), "{name}");
        assert_eq!(
            with(Some("wrong")),
            Err(CryptoError::WrongPassword),
            "{name}"
        );
    }
    let der = PrivateKey::from_der(&folder.read("rsa.der")).unwrap();
    assert_eq!(der.public_key(), original.public_key());
    let from_file = |name, password| {
        PrivateKey::from_file_contents(&folder.read(name), password)
            .map(|key| key.public_key() == original.public_key())
    };
    assert_eq!(from_file("rsa.pem", None), Ok(true));
    assert_eq!(from_file("rsa.der", None), Ok(true));
    assert_eq!(from_file("rsa.der", Some("ignored")), Ok(true));
    assert_eq!(from_file("encrypted.der", Some("secret")), Ok(true));
    assert_eq!(
        from_file("encrypted.der", Some("wrong")),
        Err(CryptoError::WrongPassword)
    );
    assert_eq!(
        from_file("encrypted.der", None),
        Err(CryptoError::PasswordNeeded)
    );
    let validity = Validity::days(jiff::Timestamp::now(), 1);
    let template = Template::new("CN=us", validity).unwrap();
    let own = issue::self_signed(original.clone(), &template).unwrap();
    let certificate = own.certificate();
    for (name, password) in [
        ("rsa.pem", None),
        ("rsa.der", None),
        ("encrypted.der", Some("secret")),
    ] {
        for certificate in [certificate.to_pem().as_bytes(), certificate.der()] {
            let key = folder.read(name);
            let identity = Identity::from_file_contents(&key, certificate, password).unwrap();
            assert_eq!(identity.key().public_key(), original.public_key(), "{name}");
        }
    }
    for name in ["public.pem", "rsa-public.pem"] {
        let public = soapstone_crypto::PublicKey::from_pem(&folder.read(name)).unwrap();
        assert_eq!(&public, original.public_key(), "{name}");
    }
}

#[test]
fn private_keys_written_here_are_read_by_openssl() {
    let folder = Folder::new();
    let key = PrivateKey::generate(KeyKind::Ec(Curve::P256)).unwrap();
    for (password, option) in [(None, ""), (Some("secret"), " -passin pass:secret")] {
        let pem = key.to_pem(password).unwrap();
        folder.write("key.pem", pem.expose());
        assert_eq!(
            PrivateKey::from_pem(pem.expose(), password)
                .unwrap()
                .public_key(),
            key.public_key()
        );
        if let Some(text) = run(
            &folder,
            &format!("openssl pkey -in key.pem -noout -text{option}"),
        ) {
            assert!(text.contains("prime256v1"), "{text}");
        }
    }
}
