import type { Command } from 'commander'
import { examples } from './examples.ts'

/** Adds examples to the help of every command that has some in the table. */
export function addExamples(program: Command, above = ''): void {
  for (const command of program.commands) {
    const path = `${above} ${command.name()}`.trim()
    const lines = examples[path]
    if (lines !== undefined) {
      const shown = lines.map(line => `  berth ${line}`).join('\n')
      command.addHelpText('after', `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${shown}`)
    }
    addExamples(command, path)
  }
}
