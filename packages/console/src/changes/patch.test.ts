import { expect, test } from 'vitest'
import { parsePatch } from './patch.ts'

const patch = `diff --git a/src/a b.ts b/src/a b.ts
index 111..222 100644
--- a/src/a b.ts\t
+++ b/src/a b.ts\t
@@ -1,3 +1,4 @@ function f() {
 one
--- two
+++ two
+three
 four
\\ No newline at end of file
@@ -10 +11 @@
-x
+y
diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"
new file mode 100644
--- /dev/null
+++ "b/\\303\\244.txt"
@@ -0,0 +1 @@
+hello
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/old.bin b/new.bin
similarity index 100%
rename from old.bin
rename to new.bin
`

test('a patch is split into its files, hunks and numbered lines', () => {
  const files = parsePatch(patch)
  expect(files.map(({ path, hunks }) => [path, hunks.length])).toEqual([
    ['src/a b.ts', 2],
    ['ä.txt', 1],
    ['gone.txt', 1],
    ['new.bin', 0],
  ])
  expect(files[0]?.hunks[0]).toEqual({
    heading: 'function f() {',
    lines: [
      { kind: 'context', before: 1, after: 1, text: 'one' },
      { kind: 'removed', before: 2, after: null, text: '-- two' },
      { kind: 'added', before: null, after: 2, text: '++ two' },
      { kind: 'added', before: null, after: 3, text: 'three' },
      { kind: 'context', before: 3, after: 4, text: 'four' },
    ],
  })
  expect(files[0]?.hunks[1]?.lines).toMatchObject([{ before: 10 }, { after: 11 }])
})

test.each(['\r', '\u2028', '\u2029'])('no line of a file hides a hunk or begins another file, behind %j', end => {
  const heading = `f${end}(x) {`
  const body = `-x${end}--- a/evil\n+y${end}diff --git a/evil b/evil\n`
  const files = parsePatch(`diff --git a/a b/a\nindex 1a..2b 100644\n--- a/a\n+++ b/a\n@@ -9 +9 @@ ${heading}\n${body}`)
  expect(files).toMatchObject([{ path: 'a', contents: ['1a..2b'], hunks: [{ heading, lines: [{}, {}] }] }])
})

test('a patch that was cut gives the lines that are complete', () => {
  const [file] = parsePatch('diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n one\n+two')
  expect(file?.hunks[0]?.lines).toHaveLength(2)
})

test('a path that git quotes is read with each of its escapes', () => {
  const [file] = parsePatch(String.raw`diff --git "a/x" "b/\a\b\t\n\v\f\r\"\\\303\244"`)
  expect(file?.path).toBe('\x07\b\t\n\v\f\r"\\ä')
})
