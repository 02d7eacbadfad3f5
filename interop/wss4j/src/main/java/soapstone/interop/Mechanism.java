package soapstone.interop;

/** What is done to a message; the names are the ones that endpoint files use. */
enum Mechanism {
    NONE("none"), USERNAME("username"), USERNAME_DIGEST("username-digest"), SIGN("sign"), ENCRYPT("encrypt"),
    SIGN_ENCRYPT("sign-encrypt"), ENCRYPT_SIGN("encrypt-sign"), SECURE_CONVERSATION("secure-conversation");

    private final String label;

    Mechanism(String label) {
        this.label = label;
    }

    static Mechanism named(String name) {
        for (Mechanism mechanism : values()) {
            if (mechanism.label.equals(name)) {
                return mechanism;
            }
        }
        throw new IllegalArgumentException("mechanism: found " + name);
    }

    boolean usernames() {
        return this == USERNAME || this == USERNAME_DIGEST;
    }

    boolean signs() {
        return this == SIGN || this == SIGN_ENCRYPT || this == ENCRYPT_SIGN || this == SECURE_CONVERSATION;
    }

    boolean encrypts() {
        return this == ENCRYPT || this == SIGN_ENCRYPT || this == ENCRYPT_SIGN || this == SECURE_CONVERSATION;
    }
}
