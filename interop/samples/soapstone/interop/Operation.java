package soapstone.interop;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;

import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Holder;

import soapstone.samples.books.Books;
import soapstone.samples.echo.Echo;
import soapstone.samples.employees.Employee;
import soapstone.samples.employees.Employees;
import soapstone.samples.strings.EchoStringArray;
import soapstone.samples.strings.StringList;
import soapstone.samples.sum.Sum;
import soapstone.samples.temperature.Temperature;

/**
 * One operation of a sample service with its arguments: how it is called through a generated interface, and which answer
 * is right.
 *
 * @param <P> the interface
 * @param <A> the answer
 */
record Operation<P, A>(Class<P> port, Asking<P, A> asking, A expected, BiPredicate<A, A> same) {
    private static final String WORDS = "Hello World ";
    private static final int FIRST_TERM = 19;
    private static final int SECOND_TERM = 93;
    /** What the sensor of a controller measures that was told nothing else. */
    private static final BigDecimal DEGREES = new BigDecimal("21.50");

    /** What is done with a port. */
    interface Asking<P, A> {
        A ask(P port);
    }

    /**
     * {@code echo} of so many characters, {@code strings} of so many elements, so many {@code books}, {@code sum},
     * {@code employees}, {@code employee}, {@code temperature}.
     */
    static Operation<?, ?> named(String name, int count, Payloads payloads) {
        return switch (name) {
            case "echo" -> echo(text(count));
            case "strings" -> strings(count);
            case "books" -> new Operation<>(Books.class, port -> port.getBooks(count), payloads.books(count),
                (one, other) -> all(one, other, Payloads::same));
            case "employees" -> new Operation<>(Employees.class, Employees::employeeDetails, payloads.employees(),
                (one, other) -> all(one, other, Payloads::same));
            case "employee" -> new Operation<>(Employees.class, Operation::oneEmployee, payloads.employee(),
                (one, other) -> all(one, other, Payloads::same));
            case "sum" -> new Operation<>(Sum.class, port -> port.sum(FIRST_TERM, SECOND_TERM),
                (long) FIRST_TERM + SECOND_TERM, Long::equals);
            case "temperature" -> new Operation<>(Temperature.class, Temperature::getTemperature, DEGREES,
                (one, other) -> one.compareTo(other) == 0);
            default -> throw new IllegalArgumentException(
                "operation: expected echo, strings, books, employees, employee, sum or temperature, found " + name);
        };
    }

    /** Asks through a port; the nanoseconds that it took. The answer is checked when the time has been taken. */
    long ask(Object port) throws WrongAnswer {
        P typed = this.port.cast(port);
        long before = System.nanoTime();
        A answer = asking.ask(typed);
        long nanoseconds = System.nanoTime() - before;
        if (!same.test(expected, answer)) {
            throw new WrongAnswer(this.port.getSimpleName());
        }
        return nanoseconds;
    }

    /** The service answered something else than what is right. */
    static final class WrongAnswer extends Exception {
        private static final long serialVersionUID = 1;

        WrongAnswer(String service) {
            super(service + ": the answer is another one than expected");
        }
    }

    /** The one record of a study, which the query of the address asks for, as it does of our own service. */
    private static List<Employee> oneEmployee(Employees port) {
        Map<String, Object> context = ((BindingProvider) port).getRequestContext();
        String address = context.get(BindingProvider.ENDPOINT_ADDRESS_PROPERTY).toString();
        if (!address.endsWith(Samples.ONE_RECORD)) {
            context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, address + Samples.ONE_RECORD);
        }
        return port.employeeDetails();
    }

    private static Operation<Echo, String> echo(String text) {
        return new Operation<>(Echo.class, port -> {
            Holder<String> both = new Holder<>(text);
            port.echo(both);
            return both.value;
        }, text, String::equals);
    }

    private static Operation<EchoStringArray, List<String>> strings(int count) {
        StringList list = new StringList();
        for (int number = 0; number < count; number++) {
            list.getItem().add("string " + number);
        }
        return new Operation<>(EchoStringArray.class, port -> port.echoStringArray(list).getItem(), list.getItem(), List::equals);
    }

    /** The text that the sample services' own clients send: words and spaces, no space at its ends. */
    private static String text(int length) {
        String text = WORDS.repeat(length / WORDS.length() + 1).substring(0, length);
        return text.endsWith(" ") ? text.substring(0, length - 1) + "." : text;
    }

    private static <T> boolean all(List<T> expected, List<T> found, BiPredicate<T, T> same) {
        if (found == null || expected.size() != found.size()) {
            return false;
        }
        for (int i = 0; i < expected.size(); i++) {
            if (!same.test(expected.get(i), found.get(i))) {
                return false;
            }
        }
        return true;
    }
}
