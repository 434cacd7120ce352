import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Returns the folder that a script makes anew, from its arguments: none, or one path. The default folder is the script's
 * own, so what it holds is replaced; a folder that somebody names must not hold anything.
 *
 * The process ends on anything else, before anything is deleted: with the usage, and with success only for `--help`.
 */
export function targetFolder(script: string, own: string): string {
  const usage = `usage: node ${script} [folder]\nMakes the folder anew. By default it is ${own}; another one must be empty or missing.`
  const refuse = (reason: string): never => {
    console.error(`${script}: ${reason}\n${usage}`)
    process.exit(2)
  }
  const { values, positionals } = readArguments(refuse)
  if (values.help === true) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  const [named, ...more] = positionals
  if (more.length > 0) refuse('it takes one folder')
  if (named === undefined) return own
  if (named === '') refuse('the name of the folder is empty')
  const folder = resolve(named)
  if (folder !== own && existsSync(folder) && readdirSync(folder).length > 0) refuse(`${folder} is not empty`)
  return folder
}

function readArguments(refuse: (reason: string) => never) {
  try {
    return parseArgs({ options: { help: { type: 'boolean', short: 'h' } }, allowPositionals: true })
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}
