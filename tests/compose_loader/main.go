// Prints a compose file as JSON, read and resolved by the library that Docker Compose reads it by.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := load(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func load(files []string) error {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	written, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(written)
	return err
}
