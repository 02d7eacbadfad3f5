#include "suite.h"

#include <string.h>

#include <xmlsec/crypto.h>

enum { WITH_SHA1, WITH_SHA256 };
enum { OAEP, RSA15 };
enum { TRIPLE_DES, AES, AES_GCM };

/* The suites by the letter: SHA-256 digests under RSA-SHA1 signatures. OAEP is with SHA-1 everywhere: libxmlsec1 1.2 has no other. */
static const struct {
    const char *name;
    int cipher, bits, signature, digest, transport;
} suites[] = {
    {"Basic256", AES, 256, WITH_SHA1, WITH_SHA1, OAEP},
    {"Basic192", AES, 192, WITH_SHA1, WITH_SHA1, OAEP},
    {"Basic128", AES, 128, WITH_SHA1, WITH_SHA1, OAEP},
    {"TripleDes", TRIPLE_DES, 192, WITH_SHA1, WITH_SHA1, OAEP},
    {"Basic256Rsa15", AES, 256, WITH_SHA1, WITH_SHA1, RSA15},
    {"Basic192Rsa15", AES, 192, WITH_SHA1, WITH_SHA1, RSA15},
    {"Basic128Rsa15", AES, 128, WITH_SHA1, WITH_SHA1, RSA15},
    {"TripleDesRsa15", TRIPLE_DES, 192, WITH_SHA1, WITH_SHA1, RSA15},
    {"Basic256Sha256", AES, 256, WITH_SHA1, WITH_SHA256, OAEP},
    {"Basic192Sha256", AES, 192, WITH_SHA1, WITH_SHA256, OAEP},
    {"Basic128Sha256", AES, 128, WITH_SHA1, WITH_SHA256, OAEP},
    {"TripleDesSha256", TRIPLE_DES, 192, WITH_SHA1, WITH_SHA256, OAEP},
    {"Basic256Sha256Rsa15", AES, 256, WITH_SHA1, WITH_SHA256, RSA15},
    {"Basic192Sha256Rsa15", AES, 192, WITH_SHA1, WITH_SHA256, RSA15},
    {"Basic128Sha256Rsa15", AES, 128, WITH_SHA1, WITH_SHA256, RSA15},
    {"TripleDesSha256Rsa15", TRIPLE_DES, 192, WITH_SHA1, WITH_SHA256, RSA15},
    {"Basic256GCM", AES_GCM, 256, WITH_SHA256, WITH_SHA256, OAEP},
    {"Basic128GCM", AES_GCM, 128, WITH_SHA256, WITH_SHA256, OAEP},
};

static const struct mechanism mechanisms[] = {
    {"none", 0, 0, 0},         {"sign", 1, 0, 0},         {"encrypt", 0, 1, 0},
    {"sign-encrypt", 1, 1, 0}, {"encrypt-sign", 1, 1, 1},
};

static xmlSecTransformId cipher(int family, int bits) {
    switch (family) {
    case TRIPLE_DES:
        return xmlSecTransformDes3CbcId;
    case AES:
        return bits == 256 ? xmlSecTransformAes256CbcId : bits == 192 ? xmlSecTransformAes192CbcId : xmlSecTransformAes128CbcId;
    default:
        return bits == 256 ? xmlSecTransformAes256GcmId : xmlSecTransformAes128GcmId;
    }
}

int find_suite(const char *name, struct suite *found) {
    if (strcmp(name, "HmacSha256Aes256Cbc") == 0) {
        *found = (struct suite){name, 1, xmlSecTransformHmacSha256Id, xmlSecTransformSha256Id, xmlSecTransformAes256CbcId, NULL,
                                xmlSecKeyDataAesId, 256};
        return 1;
    }
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        if (strcmp(name, suites[i].name) == 0) {
            *found = (struct suite){
                name, 0,
                suites[i].signature == WITH_SHA1 ? xmlSecTransformRsaSha1Id : xmlSecTransformRsaSha256Id,
                suites[i].digest == WITH_SHA1 ? xmlSecTransformSha1Id : xmlSecTransformSha256Id,
                cipher(suites[i].cipher, suites[i].bits),
                suites[i].transport == OAEP ? xmlSecTransformRsaOaepId : xmlSecTransformRsaPkcs1Id,
                suites[i].cipher == TRIPLE_DES ? xmlSecKeyDataDesId : xmlSecKeyDataAesId,
                suites[i].bits,
            };
            return 1;
        }
    }
    return 0;
}

int find_mechanism(const char *name, struct mechanism *found) {
    for (size_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++) {
        if (strcmp(name, mechanisms[i].name) == 0) {
            *found = mechanisms[i];
            return 1;
        }
    }
    return 0;
}
