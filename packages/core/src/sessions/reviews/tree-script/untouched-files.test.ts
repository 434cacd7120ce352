import { openReviewedProject } from '@berth/testing/workspaces/reviewed-project.ts'
import { expect, it } from 'vitest'

/** Content that is not in the form which its attributes ask for, as it gets into repositories without a check. */
const files = {
  'a.txt': 'one\r\ntwo\r\n',
  'b.c': '/* $Id: old text $ */\nint b;\n',
  'c.ps1': 'one\r\ntwo\n',
  'd.utf': Buffer.from('text\n'),
  'e.md': 'left\r\n',
  README: 'one\n',
}
const attributes = '*.txt text\n*.c ident\n*.ps1 text eol=crlf\n*.utf working-tree-encoding=UTF-16LE\n'

const open = () =>
  openReviewedProject(files, async (git, path) => {
    const { writeFile } = await import('node:fs/promises')
    await writeFile(`${path}/.gitattributes`, attributes)
    await git('add', '.gitattributes')
  })

it('files that are as the checkout made them are unchanged, although git would store them in another form', async () => {
  await using project = await open()
  await project.sh('echo two >> README')
  expect(await project.changes()).toEqual(['modified README'])
  await project.sh('rm -r .git; chmod +x a.txt')
  expect(await project.changes()).toEqual(['modified README', 'modified a.txt'])
})

it('files that were changed are stored as their attributes ask for', async () => {
  await using project = await open()
  await project.sh("printf 'one\\r\\ntwo\\r\\nthree\\r\\n' > a.txt")
  const made = await project.review()
  expect(made.files).toMatchObject([{ path: 'a.txt', additions: 3, deletions: 2 }])
})

it('files that were not touched stay unchanged under attributes that the agent adds', async () => {
  await using project = await open()
  await project.sh("echo '*.md text' >> .gitattributes")
  expect(await project.changes()).toEqual(['modified .gitattributes'])
})
