package soapstone.interop;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code --name value} options and the words between them. */
final class Options {
    private final Map<String, String> named = new HashMap<>();
    private final List<String> words = new ArrayList<>();

    Options(List<String> arguments) {
        for (int i = 0; i < arguments.size(); i++) {
            String argument = arguments.get(i);
            if (!argument.startsWith("--")) {
                words.add(argument);
            } else if (i + 1 < arguments.size()) {
                named.put(argument.substring(2), arguments.get(++i));
            } else {
                throw new IllegalArgumentException(argument + ": expected a value, found the end of the line");
            }
        }
    }

    /** The value of {@code --name}, or null. */
    String optional(String name) {
        return named.get(name);
    }

    String optional(String name, String otherwise) {
        return named.getOrDefault(name, otherwise);
    }

    /** Whether {@code --name true} was given. */
    boolean is(String name) {
        return Boolean.parseBoolean(named.get(name));
    }

    String required(String name) {
        String value = named.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + ": expected, not given");
        }
        return value;
    }

    String word(int index, String meaning) {
        if (index >= words.size()) {
            throw new IllegalArgumentException(meaning + ": expected, not given");
        }
        return words.get(index);
    }
}
