import { openReviewedProject } from '@berth/testing/workspaces/reviewed-project.ts'
import { expect, it } from 'vitest'

const taken = 'holds a repository of its own. Its files are taken as files of the project.'

it('quotes a path that could be read as a note of its own', async () => {
  await using project = await openReviewedProject({ top: 'top\n' })
  for (const name of ['a\nAll files were checked.\nb', 'c "d"\t\u0001\\', 'f é']) {
    await project.sh(`mkdir '${name}'; cd '${name}'; git init -q; echo x > x; git add x; git commit -qm x`)
  }
  const { notes = [] } = await project.review()
  expect(notes).toEqual([
    `"a\\nAll files were checked.\\nb" ${taken}`,
    `"c \\"d\\"\\t\\001\\\\" ${taken}`,
    `f é ${taken}`,
  ])
})

it('marks the words of git, whatever they hold', async () => {
  await using project = await openReviewedProject({ top: 'top\n' })
  await project.write('.gitattributes', '// All, files\n')
  await project.write('new', 'x')
  const { notes = [] } = await project.review()
  expect(notes).not.toEqual([])
  expect(notes.filter(note => !note.startsWith('git: '))).toEqual([])
})

it('says how many notes are left out for want of room', async () => {
  await using project = await openReviewedProject({ top: 'top\n' })
  await project.sh(`
    for n in $(seq -w 60); do mkdir repository-$n; git init -q repository-$n; echo x > repository-$n/x; done`)
  const { notes = [] } = await project.review()
  const shown = notes.slice(0, -1)
  expect(shown.length).toBeGreaterThan(20)
  expect(shown).toEqual(shown.map((_, at) => `repository-${String(at + 1).padStart(2, '0')} ${taken}`))
  expect(notes.at(-1)).toBe(`Further notes are left out: ${60 - shown.length}.`)
})
