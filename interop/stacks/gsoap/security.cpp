#include "security.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <openssl/pem.h>

namespace {

constexpr const char *user = "alice";
constexpr const char *password = "correct horse battery staple";
constexpr time_t lifetime_seconds = 300;
// The plugin declares its own name of it nowhere.
constexpr const char *wsse = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";

// What encrypts data and wraps its key, and with which digest is signed.
struct Suite {
    int encryption;
    bool sha256;
};

// The wsse plugin digests with the hash of the signature: there are no suites with SHA-256 digests under RSA-SHA1 signatures.
const std::map<std::string, Suite> suites = {
    {"Basic256", {SOAP_MEC_AES256_CBC | SOAP_MEC_OAEP, false}},
    {"Basic192", {SOAP_MEC_AES192_CBC | SOAP_MEC_OAEP, false}},
    {"Basic128", {SOAP_MEC_AES128_CBC | SOAP_MEC_OAEP, false}},
    {"TripleDes", {SOAP_MEC_DES_CBC | SOAP_MEC_OAEP, false}},
    {"Basic256Rsa15", {SOAP_MEC_AES256_CBC, false}},
    {"Basic192Rsa15", {SOAP_MEC_AES192_CBC, false}},
    {"Basic128Rsa15", {SOAP_MEC_AES128_CBC, false}},
    {"TripleDesRsa15", {SOAP_MEC_DES_CBC, false}},
    {"Basic256GCM", {SOAP_MEC_AES256_GCM | SOAP_MEC_OAEP, true}},
    {"Basic128GCM", {SOAP_MEC_AES128_GCM | SOAP_MEC_OAEP, true}},
};

std::string content(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error(path + ": cannot be read");
    }
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Read> auto pem(const std::string &path, Read read) {
    FILE *file = fopen(path.c_str(), "r");
    if (!file) {
        throw std::runtime_error(path + ": cannot be read");
    }
    auto *found = read(file, nullptr, nullptr, nullptr);
    fclose(file);
    if (!found) {
        throw std::runtime_error(path + ": expected PEM, found something else");
    }
    return found;
}

} // namespace

Security::Security(const std::string &mechanism, const std::string &suite, const std::string &keys, const std::string &ours,
                   const std::string &theirs)
    : anchors_(keys + "/ca.pem") {
    bool signs = mechanism == "sign" || mechanism == "sign-encrypt";
    bool encrypts = mechanism == "encrypt" || mechanism == "sign-encrypt";
    std::string who = keys + "/" + ours;
    if (mechanism == "none") {
        none_ = true;
    } else if (mechanism == "username") {
        password_ = Password::digest;
    } else if (mechanism == "username-text") {
        password_ = Password::text;
    } else if (mechanism == "username-hmac" || mechanism == "username-text-hmac") {
        password_ = mechanism == "username-hmac" ? Password::digest : Password::text;
        signature_ = SOAP_SMD_HMAC_SHA1;
        secret_ = content(keys + "/secret.20.bin");
    } else if (mechanism == "sign-hmac") {
        signature_ = SOAP_SMD_HMAC_SHA1;
        secret_ = content(keys + "/secret.20.bin");
    } else if (mechanism == "sign-dsa") {
        signature_ = SOAP_SMD_SIGN_DSA_SHA1;
        who += "-dsa";
    } else if (signs || encrypts) {
        auto found = suites.find(suite);
        if (found == suites.end()) {
            throw std::runtime_error("suite: gSOAP has no " + suite);
        }
        if (signs) {
            signature_ = found->second.sha256 ? SOAP_SMD_SIGN_RSA_SHA256 : SOAP_SMD_SIGN_RSA_SHA1;
        }
        if (encrypts) {
            encryption_ = found->second.encryption;
            peer_.reset(pem(keys + "/" + theirs + ".cert.pem", PEM_read_X509));
        }
    } else {
        throw std::runtime_error("mechanism: gSOAP has no " + mechanism);
    }
    if (signs || encrypts || mechanism == "sign-dsa") {
        key_.reset(pem(who + ".key.pem", PEM_read_PrivateKey));
        certificate_.reset(pem(who + ".cert.pem", PEM_read_X509));
    }
}

soap *Security::context() const {
    soap *context = soap_new1(SOAP_XML_CANONICAL | SOAP_C_UTFSTRING | SOAP_IO_KEEPALIVE);
    soap_set_version(context, 1);
    if (soap_register_plugin(context, soap_wsse)) {
        throw std::runtime_error("the wsse plugin does not register");
    }
    if (prepare(context)) {
        throw std::runtime_error("the wsse plugin does not take its keys");
    }
    return context;
}

int Security::prepare(soap *context) const {
    context->cafile = anchors_.c_str();
    context->max_keep_alive = 0;
    if (signature_ == SOAP_SMD_HMAC_SHA1) {
        return soap_wsse_verify_auto(context, signature_, secret_.data(), secret_.size());
    }
    if (signature_ != SOAP_SMD_NONE && soap_wsse_verify_auto(context, SOAP_SMD_NONE, nullptr, 0)) {
        return context->error;
    }
    // The plugin decrypts into the document that it builds to verify.
    if (encryption_ != SOAP_MEC_NONE && soap_wsse_verify_init(context)) {
        return context->error;
    }
    return expect(context);
}

// The plugin forgets the key with each message that it has received.
int Security::expect(soap *context) const {
    if (encryption_ == SOAP_MEC_NONE) {
        return SOAP_OK;
    }
    return soap_wsse_decrypt_auto(context, encryption_ | SOAP_MEC_ENV_DEC, key_.get(), 0);
}

int Security::secure(soap *context, bool request) const {
    soap_wsse_delete_Security(context);
    if (none_) {
        return SOAP_OK;
    }
    if (expect(context)) {
        return context->error;
    }
    bool signs = signature_ != SOAP_SMD_NONE;
    if (soap_wsse_add_Timestamp(context, signs ? "Time" : nullptr, lifetime_seconds)) {
        return context->error;
    }
    const char *id = signs ? "User" : nullptr;
    if (request && password_ == Password::text && soap_wsse_add_UsernameTokenText(context, id, user, password)) {
        return context->error;
    }
    if (request && password_ == Password::digest && soap_wsse_add_UsernameTokenDigest(context, id, user, password)) {
        return context->error;
    }
    if (signs && sign(context, request)) {
        return context->error;
    }
    if (encryption_ != SOAP_MEC_NONE) {
        return soap_wsse_add_EncryptedKey(context, encryption_ | SOAP_MEC_ENV_ENC, "Key", peer_.get(), nullptr, nullptr, nullptr);
    }
    return SOAP_OK;
}

// Body and Timestamp, as the other stacks sign them; of messages that prove a user the token in the place of the Body.
int Security::sign(soap *context, bool request) const {
    if (password_ != Password::none) {
        if (soap_wsse_sign(context, signature_, secret_.data(), static_cast<int>(secret_.size()))) {
            return context->error;
        }
        return soap_wsse_sign_only(context, request ? "Time User" : "Time");
    }
    if (certificate_ && (soap_wsse_add_BinarySecurityTokenX509(context, "Token", certificate_.get()) ||
                         soap_wsse_add_KeyInfo_SecurityTokenReferenceX509(context, "#Token"))) {
        return context->error;
    }
    const void *key = certificate_ ? static_cast<const void *>(key_.get()) : secret_.data();
    if (soap_wsse_sign_body(context, signature_, key, static_cast<int>(secret_.size()))) {
        return context->error;
    }
    return soap_wsse_sign_only(context, "Time Body");
}

int Security::verify(soap *context, bool request) const {
    if (none_) {
        return SOAP_OK;
    }
    if (soap_wsse_verify_Timestamp(context)) {
        return context->error;
    }
    if (request && password_ != Password::none) {
        const char *found = soap_wsse_get_Username(context);
        if (!found || std::string(user) != found) {
            return soap_wsse_fault(context, wsse__FailedAuthentication, nullptr);
        }
        if (soap_wsse_verify_Password(context, password)) {
            return context->error;
        }
    }
    if (signature_ != SOAP_SMD_NONE && password_ != Password::none) {
        bool time = soap_wsse_verify_element(context, wsu_URI, "Timestamp") == 1;
        if (!time || (request && soap_wsse_verify_element(context, wsse, "UsernameToken") != 1)) {
            return soap_wsse_fault(context, wsse__FailedCheck, "Timestamp and user have to be signed");
        }
        return SOAP_OK;
    }
    if (signature_ != SOAP_SMD_NONE &&
        (soap_wsse_verify_body(context) || soap_wsse_verify_element(context, wsu_URI, "Timestamp") != 1)) {
        return soap_wsse_fault(context, wsse__FailedCheck, "Body and Timestamp have to be signed");
    }
    if (encryption_ != SOAP_MEC_NONE && !soap_wsse_EncryptedKey(context)) {
        return soap_wsse_fault(context, wsse__InvalidSecurity, "the Body has to be encrypted");
    }
    return SOAP_OK;
}
