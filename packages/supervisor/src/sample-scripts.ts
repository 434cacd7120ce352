/** The sample repository's program before any change. The demonstration works on no others than these two scripts. */
export const greetScript = `#!/bin/sh\necho "Hello, \${1:-world}"\n`

/** Its test, which fails: nobody has written the Spanish greeting yet. */
export const testScript = `#!/bin/sh
greets() {
  said=$(./greet.sh $1)
  [ "$said" = "$2" ] && return
  echo "./greet.sh $1 says \\"$said\\", not \\"$2\\""
  exit 1
}
greets Ada "Hello, Ada"
greets "--spanish Ada" "Hola, Ada"
echo ok
`
