package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/server"
)

// parseEncryption parses the values of --encryption, and makes its paths those of parseStores.
func parseEncryption(flags []string) (out []config.Encryption, err error) {
	for _, flag := range flags {
		e, err := config.ParseEncryption(flag)
		if err != nil {
			return nil, err
		}
		for _, path := range []*string{&e.Path, &e.Key, &e.OldKey} {
			if *path == config.PlainKey && path != &e.Path || *path == config.EveryStore && path == &e.Path {
				continue
			}
			if *path, err = filepath.Abs(*path); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// warnKeys warns of key files that others may read.
func warnKeys(w io.Writer, list []config.Encryption) error {
	for _, e := range list {
		for _, path := range []string{e.Key, e.OldKey} {
			info, err := os.Stat(path)
			switch {
			case path == config.PlainKey:
			case err != nil:
				return fmt.Errorf("encryption key: %w (lichen gen encryption-key makes one)", err)
			case info.Mode().Perm()&othersMask != 0:
				fmt.Fprintf(w, "WARNING: %s has the permissions %04o: others may read the key. Run: chmod 600 %s\n", path, info.Mode().Perm(), path)
			}
		}
	}
	return nil
}

type keyFlags struct {
	bits      int
	overwrite bool
}

func newGenKey(s *streams) *cobra.Command {
	f := &keyFlags{}
	c := &cobra.Command{
		Use:   "encryption-key FILE",
		Short: "Make a store key for --encryption",
		Long: "Write a new store key, for lichen start --encryption=path=DIR,key=FILE. Keep a copy where the store is not: " +
			"without it the store can't be read.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args[0]) },
	}
	c.Flags().IntVarP(&f.bits, "size", "s", 256, "bits of the key: 128, 192 or 256")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace a file that is there already; what was encrypted with its key can't be read then")
	return c
}

func (f *keyFlags) run(s *streams, path string) (err error) {
	b, err := crypt.GenerateKey(f.bits)
	if err != nil {
		return usageError{err}
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.overwrite {
		if err := os.Remove(path); err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
	}
	file, err := os.OpenFile(path, mode, 0o600)
	if errors.Is(err, iofs.ErrExist) {
		return fmt.Errorf("%s is there already: give another name, or --overwrite if nothing is encrypted with its key", path)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "key %x: AES-%d, in %s\n", b[:8], f.bits, path)
	return nil
}

type encryptionFlags struct{ format string }

func newEncryptionStatus(s *streams) *cobra.Command {
	f := &encryptionFlags{}
	c := &cobra.Command{
		Use:   "encryption-status DIR",
		Short: "Tell which files of a store are encrypted, and with which keys",
		Long: "Tell how many files and bytes of the store in a directory are under which data key. It needs no key, and the store " +
			"may be in use. Files that the registry ought to have and has not are listed.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args[0]) },
	}
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

func (f *encryptionFlags) run(s *streams, dir string) error {
	if f.format != "text" && f.format != "json" {
		return usageError{fmt.Errorf("--format=%s: give text or json", f.format)}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	st, err := crypt.ReadStatus(fs.Disk(), dir, server.NotEncrypted)
	if err != nil {
		return err
	}
	if f.format == "json" {
		enc := json.NewEncoder(s.out)
		enc.SetIndent("", "  ")
		return enc.Encode(st)
	}
	return writeEncryption(s.out, st)
}

func newEncryptionRewrite(s *streams) *cobra.Command {
	var flag string
	c := &cobra.Command{
		Use:   "encryption-rewrite DIR --encryption=path=DIR,key=FILE",
		Short: "Write the files of a stopped store anew under its newest data key",
		Long: "Write those files of the store in a directory anew that are not under its newest data key: what is there from before encryption, from " +
			"before an exchange of keys, or, with key=plain, what is still encrypted. The node must be stopped, and have been started with --encryption " +
			"once. Interrupted, it goes on when it is called again; until then the node does not start. Blocks of the disk that the old files had " +
			"may keep what was in them.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return rewriteStore(s, args[0], flag) },
	}
	c.Flags().StringVar(&flag, "encryption", "", "the store's keys, as with start: path=DIR,key=FILE[,old-key=FILE]")
	return c
}

func rewriteStore(s *streams, dir, flag string) error {
	list, err := parseEncryption([]string{flag})
	if err != nil {
		return usageError{err}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	e := list[0]
	if e.Path == config.EveryStore {
		e.Path = dir
	}
	if e.Path != dir {
		return usageError{fmt.Errorf("--encryption is for %s, not for %s", e.Path, dir)}
	}
	var files, bytes int64
	err = server.RewriteStore(fs.Disk(), &e, slog.New(slog.NewTextHandler(s.err, nil)), func(_ string, n int64) { files, bytes = files+1, bytes+n })
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%d files with %d bytes were written anew\n", files, bytes)
	return nil
}

func writeEncryption(out io.Writer, st *crypt.Status) error {
	switch {
	case !st.Encrypted:
		fmt.Fprintf(out, "%s is not encrypted\n", st.Dir)
	case st.StoreKey == "":
		fmt.Fprintf(out, "%s has a registry, but never had a store key\n", st.Dir)
	default:
		fmt.Fprintf(out, "%s: store key %s\n", st.Dir, st.StoreKey[:16])
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "data key\tcipher\tcreated\tfiles\tbytes\t")
	for _, k := range st.Keys {
		name, cipher, created := "none", "plain", "-"
		if k.Number != crypt.Plain {
			name, cipher, created = strconv.FormatUint(uint64(k.Number), 10), fmt.Sprintf("AES-%d-CTR", k.Bits), k.Created.Format(time.DateTime)
		}
		note := ""
		if k.Active {
			note = "new files"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", name, cipher, created, k.Files, k.Bytes, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, path := range st.Unregistered {
		fmt.Fprintf(out, "WARNING: %s is not in the registry\n", path)
	}
	return nil
}
