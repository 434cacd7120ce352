import { singleKeys } from '../theme/preference.ts'

/** The key that begins a command, as this machine's keyboards have it. */
export const commandKey: string = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'

/**
 * Returns the key of a shortcut that is a single character. It is null where keys are text, and if the person has turned
 * such shortcuts off: dictation would set them off word by word.
 */
export function singleKeyOf({ key, target, metaKey, ctrlKey, altKey }: KeyboardEvent): string | null {
  if (metaKey || ctrlKey || altKey || singleKeys.read() === 'off') return null
  const isText =
    target instanceof Element &&
    target.closest('input, textarea, select, [contenteditable], [role=dialog], [role=menu]') !== null
  return isText ? null : key
}
