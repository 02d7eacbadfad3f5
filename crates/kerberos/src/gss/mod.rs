//! The calls of MIT's GSS library, each behind a function that any code may call.
//!
//! This is the one place of the project with `unsafe` code. The rule kept here: what the library
//! allocates is owned by a value that gives it back, and no pointer leaves this module.

mod abi;

use std::ffi::{CString, c_int};
use std::ptr;
use std::time::{Duration, SystemTime};

use abi::{
    Buffer, BufferSet, Functions, Handle, KeyValue, KeyValueSet, LucidContext, Oid, OidSet, Word,
};
use soapstone_crypto::SecretBytes;

use crate::enctype::Enctype;
use crate::error::KerberosError;
use crate::principal::Principal;

/// Whether the library can be loaded.
///
/// # Errors
/// [`KerberosError::LibraryMissing`]
pub fn is_available() -> Result<(), KerberosError> {
    functions().map(drop)
}

fn functions() -> Result<&'static Functions, KerberosError> {
    abi::functions().map_err(|problem| KerberosError::LibraryMissing {
        problem: problem.to_owned(),
    })
}

/// What a credential is for, and where it comes from.
pub(crate) enum Usage<'a> {
    /// To accept, with the keys of this file.
    Accept {
        /// `FILE:…`
        keytab: &'a str,
    },
    /// To initiate: with the tickets of a cache, into which tickets are put; and where there are
    /// none, with the keys of a file.
    Initiate {
        /// `FILE:…` or `MEMORY:…`
        cache: &'a str,
        /// `FILE:…`
        keytab: Option<&'a str>,
    },
}

/// A context that is established.
pub(crate) struct Established {
    /// What the other side is sent.
    pub(crate) token: Vec<u8>,
    /// The other side, where a token said so.
    pub(crate) peer: Option<String>,
    /// Whether the other side wants a token in answer.
    pub(crate) mutual: bool,
    /// The session key: the sub-key of the authenticator if there is one, else the ticket's.
    pub(crate) key: SecretBytes,
    /// The type of that key.
    pub(crate) enctype: Enctype,
    /// When the ticket ends.
    pub(crate) ends: SystemTime,
}

/// A name of the library.
struct Name {
    functions: &'static Functions,
    handle: Handle,
}

impl Name {
    fn import(functions: &'static Functions, name: &Principal) -> Result<Self, KerberosError> {
        let text = name.to_string();
        let (buffer, kind) = (Buffer::over(text.as_bytes()), Oid::of(abi::PRINCIPAL_NAME));
        let (mut minor, mut handle) = (0, ptr::null_mut());
        // SAFETY: all pointers are to values that outlive the call; input is not kept.
        let major = unsafe { (functions.import_name)(&mut minor, &buffer, &kind, &mut handle) };
        let name = Self { functions, handle };
        check(functions, "gss_import_name", major, minor)?;
        Ok(name)
    }

    fn display(&self) -> Result<String, KerberosError> {
        let mut text = Output::new(self.functions);
        let mut minor = 0;
        // SAFETY: the handle is a name of the library, and the buffer is empty and ours.
        let major = unsafe {
            (self.functions.display_name)(
                &mut minor,
                self.handle,
                &mut text.buffer,
                ptr::null_mut(),
            )
        };
        check(self.functions, "gss_display_name", major, minor)?;
        String::from_utf8(text.bytes().to_vec()).map_err(|_| KerberosError::Name {
            problem: "expected a name in UTF-8",
        })
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is a name of the library or null, and nobody has it after this.
        unsafe { (self.functions.release_name)(&mut minor, &mut self.handle) };
    }
}

/// A credential of the library.
struct Credential {
    functions: &'static Functions,
    handle: Handle,
}

impl Credential {
    fn acquire(
        functions: &'static Functions,
        name: Option<&Principal>,
        usage: &Usage<'_>,
    ) -> Result<Self, KerberosError> {
        let name = name.map(|name| Name::import(functions, name)).transpose()?;
        let (kind, pairs): (c_int, Vec<_>) = match *usage {
            Usage::Accept { keytab } => (abi::ACCEPT, vec![(c"keytab", keytab)]),
            Usage::Initiate { cache, keytab } => {
                let cache = std::iter::once((c"ccache", cache));
                let keytab = keytab.map(|keytab| (c"client_keytab", keytab));
                (abi::INITIATE, cache.chain(keytab).collect())
            }
        };
        let values = pairs.iter().map(|(_, value)| CString::new(*value));
        let values = values.collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|_| KerberosError::Name {
            problem: "expected a path without NUL",
        })?;
        let elements = pairs.iter().zip(&values).map(|((key, _), value)| KeyValue {
            key: key.as_ptr(),
            value: value.as_ptr(),
        });
        let elements: Vec<KeyValue> = elements.collect();
        let store = KeyValueSet {
            count: elements.len() as Word,
            elements: elements.as_ptr(),
        };
        let mechanism = Oid::of(abi::KERBEROS);
        let mechanisms = OidSet {
            count: 1,
            elements: &mechanism,
        };
        let (mut minor, mut handle) = (0, ptr::null_mut());
        // SAFETY: every pointer is null, where the call allows that, or to a value that outlives
        // the call: `values` and `elements` are dropped behind it, and the library copies them.
        let major = unsafe {
            (functions.acquire_cred_from)(
                &mut minor,
                name.as_ref().map_or(ptr::null_mut(), |name| name.handle),
                abi::INDEFINITE,
                &mechanisms,
                kind,
                &store,
                &mut handle,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let credential = Self { functions, handle };
        let acquired = check(functions, "gss_acquire_cred_from", major, minor);
        acquired.map_err(|error| match (usage, error) {
            // No token was looked at yet.
            (Usage::Accept { .. }, KerberosError::Library { call, problem }) => {
                KerberosError::Machine { call, problem }
            }
            (_, error) => error,
        })?;
        Ok(credential)
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is a credential of the library or null, and nobody has it after this.
        unsafe { (self.functions.release_cred)(&mut minor, &mut self.handle) };
    }
}

/// A context of the library.
struct Context {
    functions: &'static Functions,
    handle: Handle,
}

impl Context {
    const fn new(functions: &'static Functions) -> Self {
        Self {
            functions,
            handle: ptr::null_mut(),
        }
    }

    /// The session key, and its type.
    fn session_key(&self) -> Result<(SecretBytes, Enctype), KerberosError> {
        let wanted = Oid::of(abi::SESSION_KEY);
        let mut set = OutputSet {
            functions: self.functions,
            set: ptr::null_mut(),
        };
        let mut minor = 0;
        // SAFETY: the handle is an established context, and the set is empty and ours.
        let major = unsafe {
            (self.functions.inquire_sec_context_by_oid)(
                &mut minor,
                self.handle,
                &wanted,
                &mut set.set,
            )
        };
        check(
            self.functions,
            "gss_inquire_sec_context_by_oid",
            major,
            minor,
        )?;
        let unknown = || KerberosError::Library {
            call: "gss_inquire_sec_context_by_oid",
            problem: "expected a session key with its type".to_owned(),
        };
        let [key, kind] = set.buffers() else {
            return Err(unknown());
        };
        let kind = bytes_of(kind).strip_prefix(abi::SESSION_KEY_TYPE);
        let kind = kind.and_then(last_arc).ok_or_else(unknown)?;
        Ok((SecretBytes::new(bytes_of(key).to_vec()), Enctype(kind)))
    }

    /// When the ticket ends. The rest of its time that the library tells a service is longer: it
    /// has the clock skew in it. The library gives the context up for the answer.
    fn end_of_ticket(mut self) -> Result<SystemTime, KerberosError> {
        const CALL: &str = "gss_krb5_export_lucid_sec_context";
        let mut lucid = Lucid {
            functions: self.functions,
            context: ptr::null_mut(),
        };
        let mut minor = 0;
        // SAFETY: the handle is an established context, which the library sets to null if it gives
        // it up. What it allocates has its owner.
        let major = unsafe {
            (self.functions.export_lucid_sec_context)(
                &mut minor,
                &mut self.handle,
                abi::LUCID_VERSION,
                &mut lucid.context,
            )
        };
        check(self.functions, CALL, major, minor)?;
        // SAFETY: the pointer is null or to what the library made, and lives as long as `lucid`.
        let context = unsafe { lucid.context.as_ref() };
        let context = context.filter(|context| context.version == abi::LUCID_VERSION);
        let context = context.ok_or_else(|| KerberosError::Library {
            call: CALL,
            problem: "expected a context of version 1".to_owned(),
        })?;
        Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(context.end.into()))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the handle is a context of the library or null, and nobody has it after this. No
        // token about the end is asked for.
        unsafe {
            (self.functions.delete_sec_context)(&mut minor, &mut self.handle, ptr::null_mut())
        };
    }
}

/// A context that the library has laid open. It has keys, which the library wipes.
struct Lucid {
    functions: &'static Functions,
    context: *mut LucidContext,
}

impl Drop for Lucid {
    fn drop(&mut self) {
        if self.context.is_null() {
            return;
        }
        let mut minor = 0;
        // SAFETY: the library made what the pointer is to, and nobody has it after this.
        unsafe { (self.functions.free_lucid_sec_context)(&mut minor, self.context) };
    }
}

/// A buffer that the library fills.
struct Output {
    functions: &'static Functions,
    buffer: Buffer,
}

impl Output {
    const fn new(functions: &'static Functions) -> Self {
        Self {
            functions,
            buffer: Buffer::EMPTY,
        }
    }

    fn bytes(&self) -> &[u8] {
        bytes_of(&self.buffer)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is empty or was filled by the library, and nobody has it after this.
        unsafe { (self.functions.release_buffer)(&mut minor, &mut self.buffer) };
    }
}

/// A set of buffers that the library made. It may hold a key, and is wiped.
struct OutputSet {
    functions: &'static Functions,
    set: *mut BufferSet,
}

impl OutputSet {
    fn buffers(&self) -> &[Buffer] {
        // SAFETY: the set is null or one that the library made, and it lives as long as `self`.
        let Some(set) = (unsafe { self.set.as_ref() }) else {
            return &[];
        };
        match set.elements.is_null() {
            true => &[],
            // SAFETY: a set has as many elements as it counts, and nothing changes them while they
            // are borrowed from `self`.
            false => unsafe { std::slice::from_raw_parts(set.elements, set.count) },
        }
    }
}

impl Drop for OutputSet {
    fn drop(&mut self) {
        for buffer in self.buffers() {
            if !buffer.value.is_null() {
                // SAFETY: the buffer is the library's own, of this length, and nobody reads it: it
                // is released below.
                unsafe { wipe(buffer.value.cast(), buffer.length) };
            }
        }
        let mut minor = 0;
        // SAFETY: the set is null or one that the library made, and nobody has it after this.
        unsafe { (self.functions.release_buffer_set)(&mut minor, &mut self.set) };
    }
}

/// Overwrites bytes so that the compiler does not leave it out.
///
/// # Safety
/// The bytes may be written, and nobody borrows them.
unsafe fn wipe(start: *mut u8, length: usize) {
    for at in 0..length {
        // SAFETY: `at` is below the length of what the caller owns.
        let byte = unsafe { start.add(at) };
        // SAFETY: the byte is part of what the caller may write.
        unsafe { byte.write_volatile(0) };
    }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// The bytes of a buffer of the library.
fn bytes_of(buffer: &Buffer) -> &[u8] {
    match buffer.value.is_null() {
        true => &[],
        // SAFETY: a buffer that is not null has as many bytes as it says, and they live as long as
        // the buffer, which is released by its owner's `drop`.
        false => unsafe { std::slice::from_raw_parts(buffer.value.cast(), buffer.length) },
    }
}

/// The number that the rest of an OID is, where it is one arc.
fn last_arc(bytes: &[u8]) -> Option<i32> {
    let (last, rest) = bytes.split_last()?;
    let more = |byte: &u8| *byte & 0x80 != 0;
    if more(last) || !rest.iter().all(more) || bytes.len() > 4 {
        return None;
    }
    let arcs = bytes.iter();
    Some(arcs.fold(0, |sum, byte| sum << 7 | i32::from(byte & 0x7f)))
}

/// Accepts a token in the frame of GSS.
pub(crate) fn accept(
    service: &Principal,
    usage: &Usage<'_>,
    token: &[u8],
) -> Result<Established, KerberosError> {
    let functions = functions()?;
    let credential = Credential::acquire(functions, Some(service), usage)?;
    let mut context = Context::new(functions);
    let mut peer = Name {
        functions,
        handle: ptr::null_mut(),
    };
    let mut answer = Output::new(functions);
    let input = Buffer::over(token);
    let (mut minor, mut flags) = (0, 0);
    // SAFETY: every pointer is null, where the call allows that, or to a value that outlives the
    // call. What the library allocates has its owner: context, name and buffer. Delegated
    // credentials are not asked for, so that none is made.
    let major = unsafe {
        (functions.accept_sec_context)(
            &mut minor,
            &mut context.handle,
            credential.handle,
            &input,
            ptr::null(),
            &mut peer.handle,
            ptr::null_mut(),
            &mut answer.buffer,
            &mut flags,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    check(functions, "gss_accept_sec_context", major, minor)?;
    expect_complete("gss_accept_sec_context", major)?;
    let (key, enctype) = context.session_key()?;
    Ok(Established {
        token: Vec::new(),
        peer: Some(peer.display()?),
        mutual: flags & abi::MUTUAL != 0,
        key,
        enctype,
        ends: context.end_of_ticket()?,
    })
}

/// Makes a token in the frame of GSS, for a service.
pub(crate) fn initiate(
    client: Option<&Principal>,
    service: &Principal,
    usage: &Usage<'_>,
) -> Result<Established, KerberosError> {
    let functions = functions()?;
    let credential = Credential::acquire(functions, client, usage)?;
    let target = Name::import(functions, service)?;
    let mut context = Context::new(functions);
    let mut token = Output::new(functions);
    let mechanism = Oid::of(abi::KERBEROS);
    let mut minor = 0;
    // SAFETY: every pointer is null, where the call allows that, or to a value that outlives the
    // call. What the library allocates has its owner: context and buffer.
    let major = unsafe {
        (functions.init_sec_context)(
            &mut minor,
            credential.handle,
            &mut context.handle,
            target.handle,
            &mechanism,
            abi::INTEGRITY,
            abi::INDEFINITE,
            ptr::null(),
            ptr::null(),
            ptr::null_mut(),
            &mut token.buffer,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    check(functions, "gss_init_sec_context", major, minor)?;
    expect_complete("gss_init_sec_context", major)?;
    let (key, enctype) = context.session_key()?;
    Ok(Established {
        token: token.bytes().to_vec(),
        peer: None,
        mutual: false,
        key,
        enctype,
        ends: context.end_of_ticket()?,
    })
}

fn expect_complete(call: &'static str, major: Word) -> Result<(), KerberosError> {
    match major & abi::CONTINUE_NEEDED {
        0 => Ok(()),
        _ => Err(KerberosError::Library {
            call,
            problem: "expected one token to be enough".to_owned(),
        }),
    }
}

/// The first of Kerberos's own codes (`ERROR_TABLE_BASE_krb5`); those of RFC 4120, 7.5.9, follow.
const FIRST_CODE: i32 = -1_765_328_384;

/// What a status says.
fn check(
    functions: &Functions,
    call: &'static str,
    major: Word,
    minor: Word,
) -> Result<(), KerberosError> {
    if major & abi::ERRORS == 0 {
        return Ok(());
    }
    let code = minor.cast_signed().wrapping_sub(FIRST_CODE);
    let problem = || {
        let both = [(major, abi::OF_GSS), (minor, abi::OF_MECHANISM)];
        both.map(|(status, of)| words(functions, status, of))
            .join(": ")
    };
    Err(match code {
        31 | 41 => KerberosError::Integrity,
        32 => KerberosError::Expired,
        33 => KerberosError::NotYetValid,
        34 => KerberosError::Replayed,
        37 => KerberosError::Skew,
        // KDC_ERR_SVC_UNAVAILABLE; KRB5_KDC_UNREACH and KRB5_REALM_CANT_RESOLVE of the library.
        29 | 156 | 220 => KerberosError::Unreachable { problem: problem() },
        // The library's own of replay caches, and of the names and forms of keytabs.
        159..=161 | 164..=172 | 179 | 180 | 211 | 213 | 215 | 229 | 235 => KerberosError::Machine {
            call,
            problem: problem(),
        },
        _ if is_of_system(minor) => KerberosError::Machine {
            call,
            problem: problem(),
        },
        _ => KerberosError::Library {
            call,
            problem: problem(),
        },
    })
}

/// The largest error number that a system call gives (Linux: `MAX_ERRNO`).
const LAST_OF_SYSTEM: i32 = 4095;

/// Whether a code is the error number of a system call, and not one that input can cause
/// (`EINVAL`).
fn is_of_system(minor: Word) -> bool {
    let number = minor.cast_signed();
    let error = std::io::Error::from_raw_os_error(number);
    (1..=LAST_OF_SYSTEM).contains(&number) && error.kind() != std::io::ErrorKind::InvalidInput
}

/// What the library says of a status.
fn words(functions: &Functions, status: Word, of: c_int) -> String {
    let mechanism = Oid::of(abi::KERBEROS);
    let functions: &Functions = functions;
    let (mut minor, mut more) = (0, 0);
    let mut text = Buffer::EMPTY;
    // SAFETY: every pointer is to a value that outlives the call, and the buffer is empty and ours.
    let major = unsafe {
        (functions.display_status)(&mut minor, status, of, &mechanism, &mut more, &mut text)
    };
    let said = match major & abi::ERRORS {
        0 => String::from_utf8_lossy(bytes_of(&text)).into_owned(),
        _ => format!("status {status}"),
    };
    // SAFETY: the buffer is empty or was filled by the library, and nobody has it after this.
    unsafe { (functions.release_buffer)(&mut minor, &mut text) };
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_system_calls_are_told_from_other_codes() {
        // ENOENT, EACCES, EMFILE, ENOSPC, EROFS.
        for number in [2, 13, 24, 28, 30] {
            assert!(is_of_system(number), "{number}");
        }
        // None, EINVAL, a code of the mechanism, one of GSS.
        for other in [0, 22, FIRST_CODE.cast_unsigned(), 100_001] {
            assert!(!is_of_system(other), "{other}");
        }
    }

    #[test]
    fn the_type_of_a_key_is_the_last_arc_of_its_oid() {
        assert_eq!(last_arc(&[18]), Some(18));
        assert_eq!(last_arc(&[0x81, 0x00]), Some(128));
        assert_eq!(last_arc(&[]), None);
        assert_eq!(last_arc(&[18, 1]), None);
        assert_eq!(last_arc(&[0x81]), None);
    }
}
