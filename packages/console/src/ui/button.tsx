import { type ComponentProps, type ReactNode, useId } from 'react'
import type { Verdict } from '../session/session-can.ts'

type Variant = 'primary' | 'plain' | 'quiet' | 'danger'

const styles: Readonly<Record<Variant, string>> = {
  primary: 'bg-accent text-on-accent font-medium hover:bg-accent-hover',
  plain: 'bg-raised text-ink border border-line-strong hover:bg-hover',
  quiet: 'text-ink-2 hover:bg-hover hover:text-ink',
  danger: 'bg-raised text-bad border border-bad-line hover:bg-bad-soft',
}

const shape =
  'inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-md px-3 text-[0.8125rem] whitespace-nowrap select-none max-lg:h-9'

interface ButtonProps extends ComponentProps<'button'> {
  readonly variant?: Variant
  /** If it forbids, the button stays reachable by keyboard, does nothing, and says why. */
  readonly verdict?: Verdict | undefined
  readonly hint?: 'above' | 'below'
  readonly busy?: boolean
}

/** A button. One that cannot act now says why, on hover, on focus and to screen readers. */
export function Button({
  variant = 'plain',
  verdict,
  hint = 'below',
  busy = false,
  className = '',
  ...rest
}: ButtonProps) {
  const id = useId()
  const reason = verdict?.allowed === false ? verdict.reason : null
  if (reason === null) {
    return (
      <button
        type="button"
        {...rest}
        aria-busy={busy || undefined}
        disabled={rest.disabled === true || busy}
        className={`${shape} ${styles[variant]} disabled:cursor-default disabled:opacity-60 ${className}`}
      />
    )
  }
  return (
    <span className="group/why relative inline-flex">
      <button
        type="button"
        {...rest}
        aria-disabled="true"
        aria-describedby={id}
        onClick={event => event.preventDefault()}
        className={`${shape} cursor-default border border-line bg-surface text-ink-3 ${className}`}
      />
      <Hint id={id} place={hint}>
        {reason}
      </Hint>
    </span>
  )
}

function Hint({ id, place, children }: { id: string; place: 'above' | 'below'; children: ReactNode }) {
  return (
    <span
      id={id}
      role="tooltip"
      className={`pointer-events-none invisible absolute right-0 z-30 w-60 rounded-md border border-line bg-raised px-2.5 py-1.5 text-left text-xs text-ink-2 shadow-float group-focus-within/why:visible group-hover/why:visible ${place === 'above' ? 'bottom-full mb-1.5' : 'top-full mt-1.5'}`}
    >
      {children}
    </span>
  )
}

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'aria-label'> {
  readonly label: string
}

/** A button that shows only a picture; the label is for hover and for screen readers. */
export function IconButton({ label, className = '', ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...rest}
      className={`inline-grid size-8 shrink-0 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink disabled:opacity-50 max-lg:size-9 ${className}`}
    />
  )
}

/** The look of a button, for links. */
export function buttonClass(variant: Variant = 'plain'): string {
  return `${shape} ${styles[variant]}`
}
