import type { ComponentProps } from 'react'
import { singleKeys } from '../theme/preference.ts'
import { Button } from '../ui/button.tsx'

/** A button of a card that a single key presses too; the key stands on it while it does. */
export function KeyButton({
  pressedBy,
  live,
  children,
  ...rest
}: ComponentProps<typeof Button> & { readonly pressedBy: string; readonly live: boolean }) {
  return (
    <Button hint="above" {...rest} {...(live && { 'aria-keyshortcuts': pressedBy })}>
      {children}
      <Key live={live}>{pressedBy}</Key>
    </Button>
  )
}

/** The key itself, paler while it does nothing; touch screens have no keys. */
export function Key({ live, children }: { live: boolean; children: string }) {
  if (singleKeys.use() === 'off') return null
  return (
    <kbd
      aria-hidden
      className={`rounded border border-current/30 px-1 font-mono text-2xs leading-4 max-lg:hidden ${live ? '' : 'opacity-40'}`}
    >
      {children}
    </kbd>
  )
}
