using System;
using System.Linq;
using System.ServiceModel;
using System.ServiceModel.Channels;
using System.Text;

namespace Soapstone.Interop {
    /// <summary>One operation of a sample service with its arguments: how it is called, and which answer is right.</summary>
    abstract class Operation {
        const string Words = "Hello World ";
        const int FirstTerm = 19, SecondTerm = 93;
        /// <summary>That of all messages of the lab.</summary>
        static readonly MessageVersion Version = MessageVersion.Soap12WSAddressing10;

        public Type Contract { get; private set; }
        public Type Implementation { get; private set; }

        protected Operation(Type contract, Type implementation) {
            Contract = contract;
            Implementation = implementation;
        }

        /// <summary>A new client.</summary>
        public abstract IClientChannel Channel(Options options);

        /// <summary>Asks a client; the answer as an object.</summary>
        public abstract object Ask(IClientChannel channel);

        public abstract bool IsRight(object answer);

        public static Operation Of(Options options) {
            var count = int.Parse(options.Or("count", "0"));
            switch (options["operation"]) {
            case "echo":
                var text = Text(count);
                return new Typed<IEcho, string>(typeof(Echoing), service => service.Echo(text), answer => answer == text);
            case "sum":
                return new Typed<ISum, long>(typeof(Adding), service => service.Sum(FirstTerm, SecondTerm), answer => answer == FirstTerm + SecondTerm);
            case "books":
                var books = Payloads.Books(count);
                return new Typed<IBooks, Book[]>(typeof(InMemoryBooks), service => {
                    var request = Bodies.Write(new GetBooks { Count = count }, Version, Names.Books + ":getBooks");
                    return Bodies.Read<GetBooksResponse>(service.Books(request)).Books ?? new Book[0];
                }, answer => answer.Length == count && answer.Zip(books, (one, other) => one.Is(other)).All(same => same));
            case "employees":
                var employees = Payloads.Employees();
                return new Typed<IEmployees, Employee[]>(typeof(AllEmployees), service => {
                    var request = Bodies.Write(new EmployeeDetails(), Version, Names.Employees + ":EmployeeDetails");
                    return Bodies.Read<EmployeeDetailsResponse>(service.Details(request)).Employees;
                }, answer => answer.Length == employees.Length && answer.Zip(employees, (one, other) => one.Is(other)).All(same => same));
            default:
                throw new MistakenOption("operation: expected echo, sum, books or employees, found " + options["operation"]);
            }
        }

        /// <summary>The text that the sample services' own clients send: words and spaces, no space at its ends.</summary>
        static string Text(int length) {
            var words = new StringBuilder();
            while (words.Length < length) {
                words.Append(Words);
            }
            var text = words.ToString(0, length);
            return text.EndsWith(" ") ? text.Substring(0, length - 1) + "." : text;
        }

        sealed class Typed<Service, Answer> : Operation {
            readonly Func<Service, Answer> ask;
            readonly Func<Answer, bool> right;

            public Typed(Type implementation, Func<Service, Answer> ask, Func<Answer, bool> right) : base(typeof(Service), implementation) {
                this.ask = ask;
                this.right = right;
            }

            public override IClientChannel Channel(Options options) {
                var channel = (IClientChannel) Calling.Factory<Service>(options).CreateChannel();
                channel.Open();
                return channel;
            }

            public override object Ask(IClientChannel channel) {
                return ask((Service) channel);
            }

            public override bool IsRight(object answer) {
                return right((Answer) answer);
            }
        }
    }
}
