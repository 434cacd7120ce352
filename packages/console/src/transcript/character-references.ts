/**
 * Stands in for the package of the same function: its build for browsers decodes by `innerHTML`, which the policy of the
 * page blocks, and its other one has 12 KiB of names that no agent writes (`vite.config.ts`). A name that is not here is
 * shown as it was written.
 */
const references: ReadonlyMap<string, string> = new Map(
  pairs('amp&lt<gt>quot"apos\'nbsp\u00a0ast*vert|ndash–mdash—bull•hellip…copy©deg°times×ne≠le≤ge≥larr←rarr→'),
)

/** Splits names, each with the character behind it. */
function pairs(text: string): [string, string][] {
  return [...text.matchAll(/([a-z]+)([^a-z])/gsu)].map(([, name = '', character = '']) => [name, character])
}

/** Returns the character that a name between `&` and `;` stands for; false if it is none that is known. */
export function decodeNamedCharacterReference(name: string): string | false {
  return references.get(name) ?? false
}
