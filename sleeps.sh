#!/bin/sh
sleep 12 & exit 0
