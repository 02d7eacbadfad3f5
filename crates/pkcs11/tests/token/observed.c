/* A PKCS#11 module before SoftHSM: it writes down calls, and tests have it hang or fail.
 *
 * In the folder of the token (support.rs):
 *   calls              each call observed, as a line: its name and its session
 *   NAME.waits         while this file exists, calls of this name wait
 *   NAME.answers       calls of this name answer the code in this file
 * NAME may end with a session: `C_SignInit-3`.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long number;

/* CK_FUNCTION_LIST (PKCS#11 v2.40, 3.6) and the places of functions in it. */
struct list {
    unsigned char version[2];
    void *functions[68];
};
enum { INITIALIZE = 0, FINALIZE = 1, LIST = 3, OPEN = 12, CLOSE = 13, LOGIN = 18,
       DECRYPT_INIT = 33, DECRYPT = 34, SIGN_INIT = 42, SIGN = 43, DERIVE = 61 };
enum { GENERAL_ERROR = 5 };

static struct list real, observed;

static int path(char *to, size_t size, const char *name, const char *end) {
    return snprintf(to, size, "%s/%s%s", getenv("SOAPSTONE_TOKEN_FOLDER"), name, end);
}

static void note(const char *name, number session) {
    char file[512], line[64];
    path(file, sizeof file, "calls", "");
    int length = snprintf(line, sizeof line, "%s %lu\n", name, session);
    int calls = open(file, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (calls < 0 || write(calls, line, length) != length) abort();
    close(calls);
}

static number answer(const char *name) {
    char file[512];
    number code = 0;
    path(file, sizeof file, name, ".waits");
    while (access(file, F_OK) == 0) usleep(1000);
    path(file, sizeof file, name, ".answers");
    FILE *answers = fopen(file, "r");
    if (answers) {
        if (fscanf(answers, "%lu", &code) != 1) code = 0;
        fclose(answers);
    }
    return code;
}

/* The code that a test wants instead of the call; 0: none. */
static number before(const char *name, number session) {
    char with_session[64];
    note(name, session);
    snprintf(with_session, sizeof with_session, "%s-%lu", name, session);
    number code = answer(name);
    return code ? code : answer(with_session);
}

static number initialize(void *arguments) {
    number code = before("C_Initialize", 0);
    return code ? code : ((number (*)(void *))real.functions[INITIALIZE])(arguments);
}

static number finalize(void *reserved) {
    number code = before("C_Finalize", 0);
    return code ? code : ((number (*)(void *))real.functions[FINALIZE])(reserved);
}

static number open_session(number slot, number flags, void *data, void *call, number *session) {
    number code = answer("C_OpenSession");
    if (code) return code;
    code = ((number (*)(number, number, void *, void *, number *))real.functions[OPEN])(
        slot, flags, data, call, session);
    if (!code) note("C_OpenSession", *session);
    return code;
}

static number close_session(number session) {
    number code = before("C_CloseSession", session);
    return code ? code : ((number (*)(number))real.functions[CLOSE])(session);
}

static number login(number session, number user, void *pin, number length) {
    number code = before("C_Login", session);
    if (code) return code;
    return ((number (*)(number, number, void *, number))real.functions[LOGIN])(session, user, pin, length);
}

#define BEGINNING(function, name, place)                                                      \
    static number function(number session, void *mechanism, number key) {                     \
        number code = before(name, session);                                                  \
        if (code) return code;                                                                \
        return ((number (*)(number, void *, number))real.functions[place])(session, mechanism, key); \
    }

#define OPERATION(function, name, place)                                                      \
    static number function(number session, void *in, number length, void *out, number *room) { \
        number code = before(name, session);                                                  \
        if (code) return code;                                                                \
        return ((number (*)(number, void *, number, void *, number *))real.functions[place])( \
            session, in, length, out, room);                                                  \
    }

BEGINNING(decrypt_init, "C_DecryptInit", DECRYPT_INIT)
BEGINNING(sign_init, "C_SignInit", SIGN_INIT)
OPERATION(decrypt, "C_Decrypt", DECRYPT)
OPERATION(sign, "C_Sign", SIGN)

static number derive(number session, void *mechanism, number key, void *wanted, number count, number *derived) {
    number code = before("C_DeriveKey", session);
    if (code) return code;
    return ((number (*)(number, void *, number, void *, number, number *))real.functions[DERIVE])(
        session, mechanism, key, wanted, count, derived);
}

number C_GetFunctionList(struct list **list) {
    void *library = dlopen(getenv("SOAPSTONE_TOKEN_MODULE"), RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, "C_GetFunctionList") : NULL;
    struct list *found;
    if (!function || ((number (*)(struct list **))function)(&found)) return GENERAL_ERROR;
    real = observed = *found;
    observed.functions[INITIALIZE] = initialize;
    observed.functions[FINALIZE] = finalize;
    observed.functions[LIST] = C_GetFunctionList;
    observed.functions[OPEN] = open_session;
    observed.functions[CLOSE] = close_session;
    observed.functions[LOGIN] = login;
    observed.functions[DECRYPT_INIT] = decrypt_init;
    observed.functions[DECRYPT] = decrypt;
    observed.functions[SIGN_INIT] = sign_init;
    observed.functions[SIGN] = sign;
    observed.functions[DERIVE] = derive;
    *list = &observed;
    return 0;
}
