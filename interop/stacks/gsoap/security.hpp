// A mechanism with a suite, as calls of gSOAP's wsse plugin: what a sender adds to a message, and what a receiver demands.
//
// The rule kept here: a message counts as opened only when everything that the mechanism demands was found in it.
#pragma once

#include <memory>
#include <string>

#include "soapH.h"
#include "wsseapi.h"

// A secret shared by both sides, for HMAC.
using Secret = std::string;

struct KeyDeleter {
    void operator()(EVP_PKEY *key) const { EVP_PKEY_free(key); }
    void operator()(X509 *certificate) const { X509_free(certificate); }
};

class Security {
  public:
    // `suite` and keys as far as the mechanism needs them; `keys` is a folder with NAME.key.pem, NAME.cert.pem, ca.pem and
    // secret.20.bin. Throws std::runtime_error where gSOAP has no such mechanism or suite.
    Security(const std::string &mechanism, const std::string &suite, const std::string &keys, const std::string &ours,
             const std::string &theirs);

    // A new context that knows the plugin and verifies and decrypts what it receives.
    soap *context() const;
    // Makes a context that was copied verify and decrypt, too.
    int prepare(soap *context) const;
    // Adds to the next message what the mechanism wants, and gets ready for the one after it; a request names the user, an answer
    // does not.
    int secure(soap *context, bool request) const;
    // Demands of the message that was received what the mechanism wants.
    int verify(soap *context, bool request) const;

    const std::string &anchors() const { return anchors_; }

  private:
    enum class Password { none, text, digest };

    int sign(soap *context, bool request) const;
    int expect(soap *context) const;

    bool none_ = false;
    Password password_ = Password::none;
    int signature_ = SOAP_SMD_NONE;
    int encryption_ = SOAP_MEC_NONE;
    std::string anchors_;
    Secret secret_;
    std::unique_ptr<EVP_PKEY, KeyDeleter> key_;
    std::unique_ptr<X509, KeyDeleter> certificate_;
    std::unique_ptr<X509, KeyDeleter> peer_;
};
