#!/bin/sh
echo nonsense of more than sixteen bytes >&3 & exit 0
