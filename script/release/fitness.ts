import { execFileSync } from 'node:child_process'

/** A release that cannot be made. The message names the step that has to come first. */
export class Unfit extends Error {
  override readonly name = 'Unfit'
}

/**
 * Makes sure that a checkout can be released: nothing is uncommitted, and no tag has the version yet.
 * @throws Unfit
 */
export function requireFit(checkout: string, version: string): void {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Unfit(`commit or remove what is not committed:\n${changed}`)
  if (git('tag', '--list', `v${version}`) !== '') {
    throw new Unfit(`the tag v${version} exists: raise the version in package.json, in packages and in the chart`)
  }
}

/**
 * Returns the changelog's text of a version.
 * @throws Unfit if it says nothing
 */
export function notesOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find(text => /^\S+/.exec(text)?.[0] === version)
  const notes = section?.slice(section.indexOf('\n')).trim() ?? ''
  if (notes === '') throw new Unfit(`CHANGELOG.md says nothing of ${version}: give what is under Unreleased that name`)
  return `${notes}\n`
}
