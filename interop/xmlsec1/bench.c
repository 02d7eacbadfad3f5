/*
 * Bytes-to-bytes cost of securing and opening a SOAP message with libxmlsec1: parse, sign and encrypt the Body, serialize;
 * parse, decrypt and verify, serialize. Prints one line of JSON.
 *
 *   bench secure|open rsa|shared KEY.pem WARM_UP SECONDS PAYLOAD ITEMS FILE
 *
 * rsa:    RSA-SHA256 signature, AES-128-GCM data under an RSA-OAEP transported key (MGF1 and digest SHA-1: the only
 *         OAEP that libxmlsec1 1.2 has).
 * shared: HMAC-SHA256 signature and AES-256-CBC data under keys both sides hold.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <xmlsec/app.h>
#include <xmlsec/crypto.h>
#include <xmlsec/keysmngr.h>
#include <xmlsec/templates.h>
#include <xmlsec/xmldsig.h>
#include <xmlsec/xmlenc.h>
#include <xmlsec/xmlsec.h>
#include <xmlsec/xmltree.h>

#define SOAP_NS BAD_CAST "http://schemas.xmlsoap.org/soap/envelope/"
#define WSSE_NS BAD_CAST "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"

#define REQUIRE(condition) require((condition) != 0, #condition, __LINE__)

enum { LEAST_RUNS = 20 };

struct setup {
    int rsa;
    xmlSecKeysMngrPtr manager; /* holds the RSA key or the AES key */
    xmlSecKeyPtr signature_key;
    xmlSecKeyPtr data_key; /* NULL with rsa: a fresh one for each message */
};

struct bytes {
    xmlChar *start;
    int length;
};

static void require(int holds, const char *what, int line) {
    if (!holds) {
        fprintf(stderr, "bench.c:%d: does not hold: %s\n", line, what);
        exit(1);
    }
}

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void prepare(struct setup *setup, const char *mode, const char *key_file) {
    setup->rsa = strcmp(mode, "rsa") == 0;
    REQUIRE(setup->rsa || strcmp(mode, "shared") == 0);
    REQUIRE(setup->manager = xmlSecKeysMngrCreate());
    REQUIRE(xmlSecCryptoAppDefaultKeysMngrInit(setup->manager) == 0);
    xmlSecKeyPtr managed;
    if (setup->rsa) {
        REQUIRE(setup->signature_key = xmlSecCryptoAppKeyLoad(key_file, xmlSecKeyDataFormatPem, NULL, NULL, NULL));
        setup->data_key = NULL;
        REQUIRE(managed = xmlSecKeyDuplicate(setup->signature_key));
    } else {
        REQUIRE(setup->signature_key = xmlSecKeyGenerate(xmlSecKeyDataHmacId, 256, xmlSecKeyDataTypePermanent));
        REQUIRE(setup->data_key = xmlSecKeyGenerate(xmlSecKeyDataAesId, 256, xmlSecKeyDataTypePermanent));
        REQUIRE(managed = xmlSecKeyDuplicate(setup->data_key));
    }
    REQUIRE(xmlSecCryptoAppDefaultKeysMngrAdoptKey(setup->manager, managed) == 0);
}

static xmlDocPtr parse(struct bytes message) {
    xmlDocPtr document = xmlReadMemory((const char *)message.start, message.length, NULL, NULL, XML_PARSE_NONET | XML_PARSE_HUGE);
    REQUIRE(document);
    return document;
}

static struct bytes serialize(xmlDocPtr document) {
    struct bytes message;
    xmlDocDumpMemory(document, &message.start, &message.length);
    REQUIRE(message.start);
    xmlFreeDoc(document);
    return message;
}

/* The Security header; made, with the header that holds it, when there is none. */
static xmlNodePtr security_header(xmlDocPtr document, xmlNodePtr body) {
    xmlNodePtr envelope = xmlDocGetRootElement(document);
    xmlNodePtr header = xmlSecFindChild(envelope, BAD_CAST "Header", SOAP_NS);
    if (header == NULL) {
        header = xmlNewNode(body->ns, BAD_CAST "Header");
        REQUIRE(xmlAddPrevSibling(body, header));
    }
    xmlNodePtr security = xmlSecFindChild(header, BAD_CAST "Security", WSSE_NS);
    if (security == NULL) {
        security = xmlNewChild(header, NULL, BAD_CAST "Security", NULL);
        REQUIRE(security);
        xmlSetNs(security, xmlNewNs(security, WSSE_NS, BAD_CAST "wsse"));
    }
    return security;
}

static void know_id(xmlDocPtr document, xmlNodePtr body) {
    xmlAttrPtr id = xmlHasProp(body, BAD_CAST "Id");
    REQUIRE(id);
    REQUIRE(xmlAddID(NULL, document, BAD_CAST "body", id));
}

static struct bytes secure(const struct setup *setup, struct bytes plain) {
    xmlDocPtr document = parse(plain);
    xmlNodePtr body = xmlSecFindChild(xmlDocGetRootElement(document), BAD_CAST "Body", SOAP_NS);
    REQUIRE(body);
    REQUIRE(xmlNewProp(body, BAD_CAST "Id", BAD_CAST "body"));
    know_id(document, body);

    xmlSecTransformId method = setup->rsa ? xmlSecTransformRsaSha256Id : xmlSecTransformHmacSha256Id;
    xmlNodePtr signature = xmlSecTmplSignatureCreate(document, xmlSecTransformExclC14NId, method, NULL);
    REQUIRE(signature);
    REQUIRE(xmlAddChild(security_header(document, body), signature));
    xmlNodePtr reference = xmlSecTmplSignatureAddReference(signature, xmlSecTransformSha256Id, NULL, BAD_CAST "#body", NULL);
    REQUIRE(reference);
    REQUIRE(xmlSecTmplReferenceAddTransform(reference, xmlSecTransformExclC14NId));
    xmlSecDSigCtxPtr signing = xmlSecDSigCtxCreate(NULL);
    REQUIRE(signing);
    REQUIRE(signing->signKey = xmlSecKeyDuplicate(setup->signature_key));
    REQUIRE(xmlSecDSigCtxSign(signing, signature) == 0);
    xmlSecDSigCtxDestroy(signing);

    xmlSecTransformId cipher = setup->rsa ? xmlSecTransformAes128GcmId : xmlSecTransformAes256CbcId;
    xmlNodePtr data = xmlSecTmplEncDataCreate(document, cipher, NULL, xmlSecTypeEncContent, NULL, NULL);
    REQUIRE(data);
    REQUIRE(xmlSecTmplEncDataEnsureCipherValue(data));
    xmlSecEncCtxPtr encryption = xmlSecEncCtxCreate(setup->manager);
    REQUIRE(encryption);
    if (setup->rsa) {
        xmlNodePtr info = xmlSecTmplEncDataEnsureKeyInfo(data, NULL);
        REQUIRE(info);
        xmlNodePtr key = xmlSecTmplKeyInfoAddEncryptedKey(info, xmlSecTransformRsaOaepId, NULL, NULL, NULL);
        REQUIRE(key);
        REQUIRE(xmlSecTmplEncDataEnsureCipherValue(key));
        REQUIRE(encryption->encKey = xmlSecKeyGenerate(xmlSecKeyDataAesId, 128, xmlSecKeyDataTypeSession));
    } else {
        REQUIRE(encryption->encKey = xmlSecKeyDuplicate(setup->data_key));
    }
    REQUIRE(xmlSecEncCtxXmlEncrypt(encryption, data, body) == 0);
    xmlSecEncCtxDestroy(encryption);
    return serialize(document);
}

static struct bytes open_message(const struct setup *setup, struct bytes secured) {
    xmlDocPtr document = parse(secured);
    xmlNodePtr body = xmlSecFindChild(xmlDocGetRootElement(document), BAD_CAST "Body", SOAP_NS);
    REQUIRE(body);
    know_id(document, body);

    xmlSecEncCtxPtr decryption = xmlSecEncCtxCreate(setup->manager);
    REQUIRE(decryption);
    xmlNodePtr data = xmlSecFindChild(body, xmlSecNodeEncryptedData, xmlSecEncNs);
    REQUIRE(data);
    REQUIRE(xmlSecEncCtxDecrypt(decryption, data) == 0);
    xmlSecEncCtxDestroy(decryption);

    xmlNodePtr signature = xmlSecFindChild(security_header(document, body), xmlSecNodeSignature, xmlSecDSigNs);
    REQUIRE(signature);
    xmlSecDSigCtxPtr verification = xmlSecDSigCtxCreate(NULL);
    REQUIRE(verification);
    REQUIRE(verification->signKey = xmlSecKeyDuplicate(setup->signature_key));
    REQUIRE(xmlSecDSigCtxVerify(verification, signature) == 0);
    REQUIRE(verification->status == xmlSecDSigStatusSucceeded);
    xmlSecDSigCtxDestroy(verification);
    return serialize(document);
}

typedef struct bytes (*operation)(const struct setup *, struct bytes);

static size_t repeat(operation run, const struct setup *setup, struct bytes input, double seconds, size_t least, double **micros) {
    size_t count = 0, room = 1024;
    REQUIRE(*micros = malloc(room * sizeof **micros));
    double start = now_us();
    while (count < least || now_us() - start < seconds * 1e6) {
        if (count == room) {
            room *= 2;
            REQUIRE(*micros = realloc(*micros, room * sizeof **micros));
        }
        double before = now_us();
        struct bytes output = run(setup, input);
        xmlFree(output.start);
        (*micros)[count++] = now_us() - before;
    }
    return count;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct bytes read_file(const char *name) {
    FILE *file = fopen(name, "rb");
    REQUIRE(file);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    REQUIRE(size >= 0);
    rewind(file);
    struct bytes content = {malloc((size_t)size + 1), (int)size};
    REQUIRE(content.start);
    REQUIRE(fread(content.start, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    return content;
}

static void print_line(const char *name, int rsa, const char *payload, const char *items, int bytes, int secured_bytes,
                       double *micros, size_t count) {
    qsort(micros, count, sizeof *micros, compare);
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count; i++) {
        mean += micros[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        variance += (micros[i] - mean) * (micros[i] - mean) / (double)count;
    }
    printf("{\"stack\":\"libxmlsec1\",\"op\":\"%s\",\"mechanism\":\"sign-encrypt\",\"suite\":\"%s\",\"payload\":\"%s\",\"items\":%s,"
           "\"bytes\":%d,\"secured_bytes\":%d,\"clients\":1,\"n\":%zu,\"mean_us\":%.1f,\"median_us\":%.1f,\"p95_us\":%.1f,"
           "\"stdev_us\":%.1f,\"per_s\":%.1f,\"tuning\":{}}\n",
           name, rsa ? "Basic128GCM" : "HmacSha256Aes256Cbc", payload, items, bytes, secured_bytes, count, mean,
           micros[count / 2], micros[(size_t)((double)count * 0.95)], sqrt(variance), 1e6 / mean);
}

int main(int count, char **arguments) {
    if (count != 9) {
        fprintf(stderr, "usage: bench secure|open rsa|shared KEY.pem WARM_UP SECONDS PAYLOAD ITEMS FILE\n");
        return 1;
    }
    xmlInitParser();
    REQUIRE(xmlSecInit() == 0);
    REQUIRE(xmlSecCryptoAppInit(NULL) == 0);
    REQUIRE(xmlSecCryptoInit() == 0);

    struct setup setup;
    prepare(&setup, arguments[2], arguments[3]);
    struct bytes plain = read_file(arguments[8]);
    struct bytes secured = secure(&setup, plain);
    int securing = strcmp(arguments[1], "secure") == 0;
    REQUIRE(securing || strcmp(arguments[1], "open") == 0);
    operation run = securing ? secure : open_message;
    struct bytes input = securing ? plain : secured;

    double *micros;
    repeat(run, &setup, input, atof(arguments[4]), 1, &micros);
    free(micros);
    size_t runs = repeat(run, &setup, input, atof(arguments[5]), LEAST_RUNS, &micros);
    print_line(arguments[1], setup.rsa, arguments[6], arguments[7], plain.length, secured.length, micros, runs);
    return 0;
}
