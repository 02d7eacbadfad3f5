//! The C interface of the GSS library, as its header has it (RFC 2744; MIT's `gssapi_ext.h`).
//!
//! The one rule: declarations and the loading of their symbols, and nothing that calls one.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

/// `OM_uint32`.
pub(super) type Word = u32;
/// `gss_name_t`, `gss_cred_id_t`, `gss_ctx_id_t`: pointers to what the library knows alone.
pub(super) type Handle = *mut c_void;

/// `gss_buffer_desc`.
#[repr(C)]
pub(super) struct Buffer {
    pub(super) length: usize,
    pub(super) value: *mut c_void,
}

impl Buffer {
    /// A buffer that the library fills.
    pub(super) const EMPTY: Self = Self {
        length: 0,
        value: ptr::null_mut(),
    };

    /// A buffer that the library reads, for as long as `bytes` lives.
    pub(super) const fn over(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len(),
            // The library takes buffers of input by mutable pointers, and changes none.
            value: bytes.as_ptr().cast_mut().cast(),
        }
    }
}

/// `gss_buffer_set_desc`.
#[repr(C)]
pub(super) struct BufferSet {
    pub(super) count: usize,
    pub(super) elements: *mut Buffer,
}

/// `gss_OID_desc`.
#[repr(C)]
pub(super) struct Oid {
    pub(super) length: Word,
    pub(super) elements: *const c_void,
}

impl Oid {
    /// The OID with this encoding.
    pub(super) const fn of(bytes: &'static [u8]) -> Self {
        Self {
            length: bytes.len() as Word,
            elements: bytes.as_ptr().cast(),
        }
    }
}

/// `gss_OID_set_desc`.
#[repr(C)]
pub(super) struct OidSet {
    pub(super) count: usize,
    pub(super) elements: *const Oid,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
pub(super) struct KeyValue {
    pub(super) key: *const c_char,
    pub(super) value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
pub(super) struct KeyValueSet {
    pub(super) count: Word,
    pub(super) elements: *const KeyValue,
}

/// The start of `gss_krb5_lucid_context_v1_t` (MIT's `gssapi_krb5.h`). Keys follow it.
#[repr(C)]
pub(super) struct LucidContext {
    pub(super) version: Word,
    pub(super) initiate: Word,
    /// When the ticket ends, in seconds of the epoch.
    pub(super) end: Word,
}

/// The version of [`LucidContext`].
pub(super) const LUCID_VERSION: Word = 1;

/// Kerberos 5 as a mechanism: 1.2.840.113554.1.2.2.
pub(super) const KERBEROS: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// `GSS_KRB5_NT_PRINCIPAL_NAME`: 1.2.840.113554.1.2.2.1.
pub(super) const PRINCIPAL_NAME: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";
/// `GSS_C_INQ_SSPI_SESSION_KEY`: 1.2.840.113554.1.2.2.5.5.
pub(super) const SESSION_KEY: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x05\x05";
/// The start of the OID that says the type of a session key: 1.2.840.113554.1.2.2.4.
pub(super) const SESSION_KEY_TYPE: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x04";

/// `GSS_C_INITIATE`.
pub(super) const INITIATE: c_int = 1;
/// `GSS_C_ACCEPT`.
pub(super) const ACCEPT: c_int = 2;
/// `GSS_C_MUTUAL_FLAG`.
pub(super) const MUTUAL: Word = 2;
/// `GSS_C_INTEG_FLAG`.
pub(super) const INTEGRITY: Word = 32;
/// `GSS_C_INDEFINITE`.
pub(super) const INDEFINITE: Word = Word::MAX;
/// `GSS_C_GSS_CODE`.
pub(super) const OF_GSS: c_int = 1;
/// `GSS_C_MECH_CODE`.
pub(super) const OF_MECHANISM: c_int = 2;
/// The bits of a status that say that a call failed: calling and routine errors.
pub(super) const ERRORS: Word = 0xffff_0000;
/// `GSS_S_CONTINUE_NEEDED`.
pub(super) const CONTINUE_NEEDED: Word = 1;

/// Declares the functions that are used, and how they are found.
macro_rules! functions {
    ($($field:ident: $symbol:literal ($($argument:ty),* $(,)?);)*) => {
        /// The functions of the library.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> Word,)*
            /// Keeps them where they are.
            _library: Library,
        }

        impl Functions {
            fn of(library: Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the library was opened by the name that its makers change with its
                    // binary interface, and the type is the one that its header declares for the
                    // symbol. The pointer is used while `_library` lives.
                    $($field: *unsafe { library.get($symbol) }?,)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    import_name: b"gss_import_name\0" (*mut Word, *const Buffer, *const Oid, *mut Handle);
    display_name: b"gss_display_name\0" (*mut Word, Handle, *mut Buffer, *mut *const Oid);
    release_name: b"gss_release_name\0" (*mut Word, *mut Handle);
    acquire_cred_from: b"gss_acquire_cred_from\0" (
        *mut Word, Handle, Word, *const OidSet, c_int, *const KeyValueSet, *mut Handle,
        *mut *mut OidSet, *mut Word,
    );
    release_cred: b"gss_release_cred\0" (*mut Word, *mut Handle);
    init_sec_context: b"gss_init_sec_context\0" (
        *mut Word, Handle, *mut Handle, Handle, *const Oid, Word, Word, *const c_void,
        *const Buffer, *mut *const Oid, *mut Buffer, *mut Word, *mut Word,
    );
    accept_sec_context: b"gss_accept_sec_context\0" (
        *mut Word, *mut Handle, Handle, *const Buffer, *const c_void, *mut Handle,
        *mut *const Oid, *mut Buffer, *mut Word, *mut Word, *mut Handle,
    );
    delete_sec_context: b"gss_delete_sec_context\0" (*mut Word, *mut Handle, *mut Buffer);
    inquire_sec_context_by_oid: b"gss_inquire_sec_context_by_oid\0" (
        *mut Word, Handle, *const Oid, *mut *mut BufferSet,
    );
    export_lucid_sec_context: b"gss_krb5_export_lucid_sec_context\0" (
        *mut Word, *mut Handle, Word, *mut *mut LucidContext,
    );
    free_lucid_sec_context: b"gss_krb5_free_lucid_sec_context\0" (*mut Word, *mut LucidContext);
    release_buffer: b"gss_release_buffer\0" (*mut Word, *mut Buffer);
    release_buffer_set: b"gss_release_buffer_set\0" (*mut Word, *mut *mut BufferSet);
    display_status: b"gss_display_status\0" (
        *mut Word, Word, c_int, *const Oid, *mut Word, *mut Buffer,
    );
}

/// The file, by the name that changes with the library's binary interface.
const FILE: &CStr = c"libgssapi_krb5.so.2";

/// The functions, once the library is loaded; or why it is not. It is tried once.
pub(super) fn functions() -> Result<&'static Functions, &'static str> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let loaded = FUNCTIONS.get_or_init(|| {
        let name = FILE.to_string_lossy();
        // SAFETY: the initializers of MIT's library only prepare its own memory and locks, and are
        // made to run in any program. The file is that of the system: its name has no folder.
        let library = unsafe { Library::new(name.as_ref()) };
        let functions = library.and_then(Functions::of);
        functions.map_err(|error| error.to_string())
    });
    loaded.as_ref().map_err(String::as_str)
}
