import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the pages that tell people what to type; the reference of the command line is made from the command line. */
export function pagesWithCommands(root: string): readonly string[] {
  const found = globSync(['README.md', 'docs/*.md', 'examples/*/README.md', 'packages/client/README.md'], { cwd: root })
  return found.filter(page => page !== 'docs/cli-reference.md').sort()
}

/** Returns the blocks of shell commands of a page, in their order. */
export function commandBlocks(root: string, page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^ *```(?:sh|bash)\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block)
}

/** Returns the commands of `berth` in the blocks of a page, each as it stands there. */
export function berthLines(root: string, page: string): readonly string[] {
  const lines = commandBlocks(root, page).flatMap(block => block.replaceAll(/\\\n\s*/g, ' ').split('\n'))
  return lines.flatMap(line => /(?:^|[|(;&])\s*(?:bin\/)?(berth .*)$/.exec(line)?.[1] ?? [])
}

/** Returns what the prose of a page calls by its command or by an option: its code spans that begin with `berth`. */
export function berthSpans(root: string, page: string): readonly string[] {
  const prose = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  return [...prose.matchAll(/`(berth [^`]+)`/g)].map(([, span = '']) => span)
}
