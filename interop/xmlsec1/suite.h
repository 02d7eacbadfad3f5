/*
 * A mechanism with the algorithms of a suite of WS-SecurityPolicy, as libxmlsec1 names them.
 */
#ifndef SOAPSTONE_SUITE_H
#define SOAPSTONE_SUITE_H

#include <xmlsec/xmlsec.h>
#include <xmlsec/keysdata.h>
#include <xmlsec/transforms.h>

struct suite {
    const char *name;
    int shared; /* keys that both sides hold, in the place of RSA */
    xmlSecTransformId signature, digest, cipher, transport;
    xmlSecKeyDataId data_key;
    int data_key_bits;
};

struct mechanism {
    const char *name;
    int signs, encrypts, encrypts_first;
};

/* Fills in the suite or the mechanism of that name; 0 if there is none. */
int find_suite(const char *name, struct suite *found);
int find_mechanism(const char *name, struct mechanism *found);

#endif
