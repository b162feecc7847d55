// Command carrel-bench-gqlgen answers pages of libraries in memory with gqlgen as its
// documentation sets it up: the generated executor, gqlgen's own handler with its caches, and a
// data loader for each request. make bench-peers measures it beside Carrel.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel-bench-gqlgen/generated"
	"carrel-bench-gqlgen/library"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: carrel-bench-gqlgen FILE")
	}
	data, err := library.Load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	srv := handler.New(generated.NewExecutableSchema(generated.Config{Resolvers: &resolver{data}}))
	srv.AddTransport(transport.Options{})
	srv.AddTransport(transport.GET{})
	srv.AddTransport(transport.POST{})
	srv.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	srv.Use(extension.AutomaticPersistedQuery{Cache: lru.New[string](100)})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/graphql\n", listener.Addr())
	http.Handle("/graphql", withLoader(data, srv))
	log.Fatal(http.Serve(listener, nil))
}
