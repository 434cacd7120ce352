/** A check as an environment's document has it. */
export interface ProposedCheck {
  readonly name: string
  readonly run: string
}

/** Text of the files of a repository that tell how it is checked; absent if it has none. */
export interface CheckSources {
  /** Names of the files at its top. */
  readonly names: readonly string[]
  readonly packageJson?: string
  readonly makefile?: string
  readonly workflows: readonly string[]
}

/** An environment has at most so many checks. */
const most = 16

const worth =
  /(?:^|[:._-])(?:tests?|lint|check|checks|typecheck|type-check|types|tsc|build|verify|vet|fmt-check|format:check)(?:$|[:._-])/
/** Scripts that never end, change files or reach out. */
const unfit = /(?:watch|dev|serve|start|fix|write|update|deploy|publish|release|e2e|docker|image|clean|install)/

/**
 * Returns commands that a repository checks itself by: scripts of its package, targets of its Makefile, and the lines that its
 * CI runs. They are read as text; nothing of the repository is run.
 */
export function proposedChecks({
  names,
  packageJson = '',
  makefile = '',
  workflows,
}: CheckSources): readonly ProposedCheck[] {
  const found = [
    ...packageScripts(packageJson, names),
    ...makeTargets(makefile).map(target => ({ name: target, run: `make ${target}` })),
    ...workflows.flatMap(runLines).map(run => ({ name: run, run })),
  ]
  const checks: ProposedCheck[] = []
  for (const { name, run } of found) {
    const same = run.replace(/^npm run test$/, 'npm test')
    if (checks.length < most && checks.every(check => check.run !== same && check.name !== nameOf(name)))
      checks.push({ name: nameOf(name), run: same })
  }
  return checks
}

const nameOf = (text: string): string => [...text.replaceAll(/\s+/g, ' ').trim()].slice(0, 64).join('')

const managers: readonly (readonly [lock: RegExp, command: string])[] = [
  [/^pnpm-lock\.yaml$/, 'pnpm'],
  [/^yarn\.lock$/, 'yarn'],
  [/^bun\.lockb?$/, 'bun'],
]

function packageScripts(packageJson: string, names: readonly string[]): readonly ProposedCheck[] {
  const scripts = scriptsOf(packageJson)
  const manager = managers.find(([lock]) => names.some(name => lock.test(name)))?.[1] ?? 'npm'
  return Object.entries(scripts).flatMap(([name, script]) => {
    const isNone = typeof script !== 'string' || script.includes('no test specified')
    return isNone || !worth.test(name) || unfit.test(name) ? [] : [{ name, run: `${manager} run ${name}` }]
  })
}

function scriptsOf(packageJson: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: { readonly scripts?: Readonly<Record<string, unknown>> } | null = JSON.parse(packageJson)
    return typeof parsed?.scripts === 'object' ? (parsed.scripts ?? {}) : {}
  } catch {
    return {}
  }
}

const makeTargets = (makefile: string): readonly string[] =>
  [...makefile.matchAll(/^([A-Za-z][\w.-]{0,63})\s*:(?!=)/gm)]
    .map(([, target = '']) => target)
    .filter(target => worth.test(target) && !unfit.test(target))

const checking =
  /\b(?:test|tests|lint|check|typecheck|tsc|vet|clippy|pytest|ruff|mypy|eslint|biome|vitest|jest|tox|rspec|rubocop|phpunit|gradlew?|mvn|ctest|build)\b/
/** Lines that need the CI's own values, or reach out. */
const ofCi = /\$\{\{|\$GITHUB_|\b(?:deploy|publish|push|login|upload|install|docker|curl|ssh|gh|aws|npm ci)\b/

/** Returns the lines that a workflow runs to check; it is read line by line, as only `run` matters. */
function runLines(workflow: string): readonly string[] {
  const lines: string[] = []
  let block = -1
  for (const line of workflow.split(/\r?\n/)) {
    const indent = line.search(/\S/)
    if (block >= 0 && (indent === -1 || indent > block)) {
      lines.push(line.trim())
      continue
    }
    block = -1
    const [, before = '', value = ''] = /^(\s*(?:- +)?)run:\s*(.*)$/.exec(line) ?? []
    if (/^[|>][+-]?\d?\s*$/.test(value)) block = before.length
    else if (value !== '')
      lines.push(
        value
          .replace(/^(["'])(.*)\1\s*$/, '$2')
          .replace(/\s+#.*$/, '')
          .trim(),
      )
  }
  // A line that goes on, or that a shell's own syntax opens, says nothing by itself.
  return lines.filter(
    line =>
      line.length <= 200 &&
      checking.test(line) &&
      !ofCi.test(line) &&
      !/[\\{(|]$|^#|^(?:if|for|while|then|else|fi|done|echo)\b/.test(line),
  )
}
