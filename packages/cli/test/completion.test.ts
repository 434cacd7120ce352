import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, expect, test } from 'vitest'
import { commandTree } from '../src/completion/command-tree.ts'
import { completionScript, type Shell, shells } from '../src/completion/scripts.ts'
import { textAfterHelp } from '../src/help/text-after-help.ts'
import { buildProgram, type ProgramHost } from '../src/program.ts'

const program = buildProgram({ cutTo: () => {} } as unknown as ProgramHost)
const tree = commandTree(program)
const folder = mkdtempSync(join(tmpdir(), 'berth-completion-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Has a shell complete the last of some words, and returns the texts that it offers. */
const complete: Readonly<Record<Shell, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) =>
    execFileSync('bash', [
      '-c',
      `source ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ...['bash', 'berth', ...words],
    ]).toString(),
  // Outside a terminal there is no completion to describe to, so these functions print what they are given.
  zsh: (script, words) =>
    execFileSync('zsh', [
      '-f',
      '-c',
      `compdef() {}; _files() {}; _describe() { print -rl -- "\${(@P)2}" }; source ${script}
       words=("$@"); CURRENT=$#; _berth | sed 's/\\([^\\\\]\\):.*/\\1/'`,
      ...['zsh', 'berth', ...words],
    ]).toString(),
  fish: (script, words) =>
    execFileSync('fish', [
      '--no-config',
      '-c',
      `source ${script}; complete -C ${JSON.stringify(`berth ${words.join(' ')}`)}`,
    ])
      .toString()
      .replaceAll(/\t.*/g, ''),
}

const isInstalled = (shell: Shell) => {
  try {
    execFileSync(shell, ['--version'])
    return true
  } catch {
    return false
  }
}

test.each(shells.filter(isInstalled))('%s completes words, options and values as the command table has them', shell => {
  const script = join(folder, shell)
  writeFileSync(script, completionScript(shell, tree))
  const offered = (...words: string[]) => {
    const current = words.at(-1) ?? ''
    const all = complete[shell](script, words).split('\n')
    return all.filter(text => text !== '' && text.startsWith(current)).sort()
  }
  const namesBelow = (path: string) =>
    tree
      .find(node => node.path === path)
      ?.children.map(({ text }) => text)
      .sort()
  expect(offered('')).toEqual(namesBelow(''))
  expect(offered('env', '')).toEqual(namesBelow('env'))
  expect(offered('env', 'sec')).toEqual(['secrets'])
  // Options and their values between the words do not hide where the command line is.
  expect(offered('--url', 'https://berth.example.com', 'env', 'secrets', '')).toEqual(['delete', 'list', 'set'])
  expect(offered('sessions', 'show', '--js')).toEqual(['--json'])
  expect(offered('sessions', 'show', '--pro')).toEqual(['--profile'])
  expect(offered('members', 'edit', 'm-1', '--role', '')).toEqual(['admin', 'member'])
})

test('bash and fish are given every word, with quotes in descriptions kept', () => {
  const fish = completionScript('fish', tree)
  for (const { path, children } of tree) for (const { text } of children) expect(fish, path).toContain(`-a '${text}'`)
  expect(fish).toContain("print a session'\\''s events")
})

test('every command shows an example', () => {
  const leaves: string[] = []
  const visit = (command: Command, path: string) => {
    for (const each of command.commands) visit(each, `${path} ${each.name()}`.trim())
    const isCalled = command.commands.length === 0
    if (isCalled && !textAfterHelp(command).includes(`  berth ${path.split(' ')[0]}`)) leaves.push(path)
  }
  visit(program, '')
  expect(leaves).toEqual([])
})
