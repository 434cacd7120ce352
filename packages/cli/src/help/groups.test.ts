import { expect, test } from 'vitest'
import { buildProgram, type ProgramHost } from '../program.ts'
import { groups } from './groups.ts'

// Commands are only listed here; none runs.
const program = buildProgram({} as ProgramHost)
const headings = groups.map(([heading]) => heading)

test('every command stands under exactly one heading, and no heading names one that is not there', () => {
  const grouped = groups.flatMap(([, names]) => names)
  expect(grouped.toSorted()).toEqual(program.commands.map(command => command.name()).toSorted())
})

test('the help has the headings in their order, the daily work first, and nothing beside them', () => {
  const shown = program.helpInformation().match(/^[A-Z].*:$/gm)
  expect(shown).toEqual(['Options:', ...headings])
})

test('the help of a command with commands of its own keeps one list', () => {
  const env = program.commands.find(command => command.name() === 'env')
  expect(env?.helpInformation().match(/^[A-Z].*:$/gm)).toEqual(['Options:', 'Commands:'])
})
