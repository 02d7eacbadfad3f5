/*
 * Bytes-to-bytes cost of securing and opening a SOAP message with libxmlsec1: parse, sign and encrypt the Body, serialize;
 * parse, decrypt and verify, serialize. Prints one line of JSON.
 *
 *   bench secure|open MECHANISM SUITE KEY.pem WARM_UP SECONDS PAYLOAD ITEMS FILE    figures of as many as fit into the time
 *   bench secure|open MECHANISM SUITE KEY.pem REPETITIONS FILE                      the time of each
 *
 * Suites have RSA signatures and keys transported by RSA, but for HmacSha256Aes256Cbc, whose keys both sides hold.
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

#include "suite.h"

#define SOAP_NS BAD_CAST "http://schemas.xmlsoap.org/soap/envelope/"
#define WSSE_NS BAD_CAST "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"

#define REQUIRE(condition) require((condition) != 0, #condition, __LINE__)

enum { LEAST_RUNS = 20 };

struct setup {
    struct mechanism mechanism;
    struct suite suite;
    xmlSecKeysMngrPtr manager; /* holds the RSA key or the AES key */
    xmlSecKeyPtr signature_key;
    xmlSecKeyPtr data_key; /* NULL where it is not shared: a fresh one for each message */
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

static void prepare(struct setup *setup, const char *mechanism, const char *suite, const char *key_file) {
    REQUIRE(find_mechanism(mechanism, &setup->mechanism));
    REQUIRE(find_suite(suite, &setup->suite));
    REQUIRE(setup->manager = xmlSecKeysMngrCreate());
    REQUIRE(xmlSecCryptoAppDefaultKeysMngrInit(setup->manager) == 0);
    xmlSecKeyPtr managed;
    if (setup->suite.shared) {
        REQUIRE(setup->signature_key = xmlSecKeyGenerate(xmlSecKeyDataHmacId, 256, xmlSecKeyDataTypePermanent));
        REQUIRE(setup->data_key = xmlSecKeyGenerate(setup->suite.data_key, setup->suite.data_key_bits, xmlSecKeyDataTypePermanent));
        REQUIRE(managed = xmlSecKeyDuplicate(setup->data_key));
    } else {
        REQUIRE(setup->signature_key = xmlSecCryptoAppKeyLoad(key_file, xmlSecKeyDataFormatPem, NULL, NULL, NULL));
        setup->data_key = NULL;
        REQUIRE(managed = xmlSecKeyDuplicate(setup->signature_key));
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

static xmlNodePtr body_of(xmlDocPtr document) {
    xmlNodePtr body = xmlSecFindChild(xmlDocGetRootElement(document), BAD_CAST "Body", SOAP_NS);
    REQUIRE(body);
    return body;
}

static void sign(const struct setup *setup, xmlDocPtr document, xmlNodePtr body) {
    REQUIRE(xmlNewProp(body, BAD_CAST "Id", BAD_CAST "body"));
    know_id(document, body);
    xmlNodePtr signature = xmlSecTmplSignatureCreate(document, xmlSecTransformExclC14NId, setup->suite.signature, NULL);
    REQUIRE(signature);
    REQUIRE(xmlAddChild(security_header(document, body), signature));
    xmlNodePtr reference = xmlSecTmplSignatureAddReference(signature, setup->suite.digest, NULL, BAD_CAST "#body", NULL);
    REQUIRE(reference);
    REQUIRE(xmlSecTmplReferenceAddTransform(reference, xmlSecTransformExclC14NId));
    xmlSecDSigCtxPtr signing = xmlSecDSigCtxCreate(NULL);
    REQUIRE(signing);
    REQUIRE(signing->signKey = xmlSecKeyDuplicate(setup->signature_key));
    REQUIRE(xmlSecDSigCtxSign(signing, signature) == 0);
    xmlSecDSigCtxDestroy(signing);
}

static void encrypt(const struct setup *setup, xmlDocPtr document, xmlNodePtr body) {
    xmlNodePtr data = xmlSecTmplEncDataCreate(document, setup->suite.cipher, NULL, xmlSecTypeEncContent, NULL, NULL);
    REQUIRE(data);
    REQUIRE(xmlSecTmplEncDataEnsureCipherValue(data));
    xmlSecEncCtxPtr encryption = xmlSecEncCtxCreate(setup->manager);
    REQUIRE(encryption);
    if (setup->suite.shared) {
        REQUIRE(encryption->encKey = xmlSecKeyDuplicate(setup->data_key));
    } else {
        xmlNodePtr info = xmlSecTmplEncDataEnsureKeyInfo(data, NULL);
        REQUIRE(info);
        xmlNodePtr key = xmlSecTmplKeyInfoAddEncryptedKey(info, setup->suite.transport, NULL, NULL, NULL);
        REQUIRE(key);
        REQUIRE(xmlSecTmplEncDataEnsureCipherValue(key));
        REQUIRE(encryption->encKey =
                    xmlSecKeyGenerate(setup->suite.data_key, setup->suite.data_key_bits, xmlSecKeyDataTypeSession));
    }
    REQUIRE(xmlSecEncCtxXmlEncrypt(encryption, data, body) == 0);
    xmlSecEncCtxDestroy(encryption);
}

static struct bytes secure(const struct setup *setup, struct bytes plain) {
    xmlDocPtr document = parse(plain);
    xmlNodePtr body = body_of(document);
    if (setup->mechanism.encrypts_first) {
        encrypt(setup, document, body);
    }
    if (setup->mechanism.signs) {
        sign(setup, document, body);
    }
    if (setup->mechanism.encrypts && !setup->mechanism.encrypts_first) {
        encrypt(setup, document, body);
    }
    return serialize(document);
}

static void decrypt(const struct setup *setup, xmlNodePtr body) {
    xmlSecEncCtxPtr decryption = xmlSecEncCtxCreate(setup->manager);
    REQUIRE(decryption);
    xmlNodePtr data = xmlSecFindChild(body, xmlSecNodeEncryptedData, xmlSecEncNs);
    REQUIRE(data);
    REQUIRE(xmlSecEncCtxDecrypt(decryption, data) == 0);
    xmlSecEncCtxDestroy(decryption);
}

static void verify(const struct setup *setup, xmlDocPtr document, xmlNodePtr body) {
    know_id(document, body);
    xmlNodePtr signature = xmlSecFindChild(security_header(document, body), xmlSecNodeSignature, xmlSecDSigNs);
    REQUIRE(signature);
    xmlSecDSigCtxPtr verification = xmlSecDSigCtxCreate(NULL);
    REQUIRE(verification);
    REQUIRE(verification->signKey = xmlSecKeyDuplicate(setup->signature_key));
    REQUIRE(xmlSecDSigCtxVerify(verification, signature) == 0);
    REQUIRE(verification->status == xmlSecDSigStatusSucceeded);
    xmlSecDSigCtxDestroy(verification);
}

static struct bytes open_message(const struct setup *setup, struct bytes secured) {
    xmlDocPtr document = parse(secured);
    xmlNodePtr body = body_of(document);
    if (setup->mechanism.encrypts && !setup->mechanism.encrypts_first) {
        decrypt(setup, body);
    }
    if (setup->mechanism.signs) {
        verify(setup, document, body);
    }
    if (setup->mechanism.encrypts_first) {
        decrypt(setup, body);
    }
    return serialize(document);
}

/* What is secured and opened has to hold the text that it held before, and has to be another message between. */
static void check(const struct setup *setup, struct bytes plain, struct bytes secured) {
    struct bytes opened = open_message(setup, secured);
    xmlDocPtr documents[] = {parse(plain), parse(opened)};
    xmlChar *texts[] = {xmlNodeGetContent(body_of(documents[0])), xmlNodeGetContent(body_of(documents[1]))};
    REQUIRE(xmlStrEqual(texts[0], texts[1]));
    REQUIRE(secured.length > plain.length || !(setup->mechanism.signs || setup->mechanism.encrypts));
    for (int i = 0; i < 2; i++) {
        xmlFree(texts[i]);
        xmlFreeDoc(documents[i]);
    }
    xmlFree(opened.start);
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

static void print_line(const char *name, const struct setup *setup, const char *payload, const char *items, int bytes,
                       int secured_bytes, double *micros, size_t count) {
    qsort(micros, count, sizeof *micros, compare);
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count; i++) {
        mean += micros[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        variance += (micros[i] - mean) * (micros[i] - mean) / (double)count;
    }
    printf("{\"stack\":\"libxmlsec1\",\"op\":\"%s\",\"mechanism\":\"%s\",\"suite\":\"%s\",\"payload\":\"%s\",\"items\":%s,"
           "\"bytes\":%d,\"secured_bytes\":%d,\"clients\":1,\"n\":%zu,\"mean_us\":%.1f,\"median_us\":%.1f,\"p95_us\":%.1f,"
           "\"stdev_us\":%.1f,\"per_s\":%.1f,\"tuning\":{}}\n",
           name, setup->mechanism.name, setup->suite.name, payload, items, bytes, secured_bytes, count, mean,
           micros[count / 2], micros[(size_t)((double)count * 0.95)], sqrt(variance), 1e6 / mean);
}

static void print_each(const double *micros, size_t count) {
    for (size_t i = 0; i < count; i++) {
        printf("%s%.1f", i == 0 ? "{\"us\":[" : ",", micros[i]);
    }
    puts("]}");
}

int main(int count, char **arguments) {
    enum { LINE = 10, EACH = 7 };
    if (count != LINE && count != EACH) {
        fprintf(stderr, "usage: bench secure|open MECHANISM SUITE KEY.pem (WARM_UP SECONDS PAYLOAD ITEMS | REPETITIONS) FILE\n");
        return 1;
    }
    xmlInitParser();
    REQUIRE(xmlSecInit() == 0);
    REQUIRE(xmlSecCryptoAppInit(NULL) == 0);
    REQUIRE(xmlSecCryptoInit() == 0);

    struct setup setup;
    prepare(&setup, arguments[2], arguments[3], arguments[4]);
    struct bytes plain = read_file(arguments[count - 1]);
    struct bytes secured = secure(&setup, plain);
    check(&setup, plain, secured);
    int securing = strcmp(arguments[1], "secure") == 0;
    REQUIRE(securing || strcmp(arguments[1], "open") == 0);
    operation run = securing ? secure : open_message;
    struct bytes input = securing ? plain : secured;

    double *micros;
    if (count == EACH) {
        long repetitions = atol(arguments[5]);
        REQUIRE(repetitions > 0);
        size_t runs = repeat(run, &setup, input, 0, (size_t)repetitions, &micros);
        print_each(micros, runs);
        return 0;
    }
    repeat(run, &setup, input, atof(arguments[5]), 1, &micros);
    free(micros);
    size_t runs = repeat(run, &setup, input, atof(arguments[6]), LEAST_RUNS, &micros);
    print_line(arguments[1], &setup, arguments[7], arguments[8], plain.length, secured.length, micros, runs);
    return 0;
}
