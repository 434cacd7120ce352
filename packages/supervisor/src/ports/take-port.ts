import { connect, type Socket } from 'node:net'
import { PROXY_PORT } from '../protocol.ts'
import { listeningPorts } from './listening-ports.ts'
import type { PortAnswer, PortOrder } from './protocol.ts'

/** Programs listen on either loopback address. */
const addresses = ['127.0.0.1', '::1'] as const

/** A program that accepts nothing holds a connection up for ever; the caller takes longer silence for the sandbox's. */
const CONNECT_MS = 1_000

/**
 * Carries out an order about ports. The supervisor's own port is the way to the network and to the worker, which is for
 * programs of the sandbox alone.
 * @param socket nothing reads it; it is closed, or joined with the port from here on
 */
export function takePort(order: PortOrder, socket: Socket): void {
  if ('list' in order) socket.end(line({ ports: listeningPorts(PROXY_PORT) }))
  else if (order.dial === PROXY_PORT) refuse(socket)
  else dial(order.dial, socket, addresses)
}

function dial(port: number, socket: Socket, [address, ...others]: readonly string[]): void {
  if (address === undefined) {
    refuse(socket)
    return
  }
  const server = connect({ host: address, port, allowHalfOpen: true })
  const leave = () => server.destroy()
  const late = setTimeout(() => server.destroy(new Error('the program accepts nothing')), CONNECT_MS)
  const onRefusal = () => dial(port, socket, others)
  server.once('error', onRefusal)
  server.once('close', () => {
    clearTimeout(late)
    socket.off('close', leave)
  })
  socket.once('close', leave)
  server.once('connect', () => {
    clearTimeout(late)
    server.off('error', onRefusal)
    socket.write(line({ dial: 'open' }))
    server.on('error', () => socket.destroy())
    // Ended, not destroyed: what the port has said may still be on its way.
    server.once('close', () => socket.end())
    socket.pipe(server)
    server.pipe(socket)
  })
}

function refuse(socket: Socket): void {
  socket.end(line({ dial: 'refused' }))
}

const line = (answer: PortAnswer): string => `${JSON.stringify(answer)}\n`
